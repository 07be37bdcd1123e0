package org.apache.spark.sql.parquetry.protocol

import com.fasterxml.jackson.annotation.JsonIgnoreProperties
import org.json4s._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.{LogicalExpressions, NamedReference, Transform}
import org.apache.spark.sql.types.{DataType, StructType}

// The planner's answers. Each class has the fields of a struct in `planner/protocol/answers.py`, which says
// what they mean; `Codec` reads them. In rows of values, a value is a text, or null for NULL.

case class HeldAnswer(held: Boolean)
case class NamesAnswer(names: Seq[String])
case class PropertiesAnswer(properties: Map[String, String])
case class RewrittenAnswer(text: Option[String])
case class SchemaAnswer(schema: StructType)
case class RowsAnswer(rows: Array[Array[String]])
/** A stream's position; only the planner interprets it. */
case class PositionAnswer(position: String)
case class WrittenAnswer(files: Long, partitions: Long, rows: Long, bytes: Long)

/** Names a version of a table in questions. A restored metastore may have its number for another commit. */
case class TableRef(id: String, version: Long, commit: String, database: String, table: String) {
  def json: JObject = JObject(
    "id" -> JString(id), "version" -> JInt(version), "commit" -> JString(commit), "database" -> JString(database), "table" -> JString(table))
}

/** One version of a table. */
case class TableAnswer(
    name: String, table: TableRef, schema: StructType, physicalSchema: Option[StructType], partitionBy: Seq[String], format: String,
    properties: Map[String, String], bucketing: Option[BucketingAnswer], clusteredBy: Seq[Seq[String]], constraints: Seq[ConstraintAnswer],
    clauses: Map[String, String], details: Seq[(String, String)], directories: Boolean, changeFile: Option[String]) {
  /** How rows are arranged in a partition's files. */
  def arrangedBy: Seq[Transform] =
    bucketing.map(_.transform).toSeq ++ Option.when(clusteredBy.nonEmpty)(LogicalExpressions.clusterBy(TableAnswer.references(clusteredBy)))
  /** The same without the arrangement. */
  def byColumns: TableAnswer = copy(bucketing = None, clusteredBy = Nil)
}

object TableAnswer {
  private[protocol] def references(paths: Seq[Seq[String]]): Array[NamedReference] = paths.map(LogicalExpressions.reference).toArray
}

case class BucketingAnswer(columns: Seq[String], count: Int, sortedBy: Seq[String]) {
  def transform: Transform = {
    val (hashed, sorted) = (TableAnswer.references(columns.map(Seq(_))), TableAnswer.references(sortedBy.map(Seq(_))))
    if (sorted.isEmpty) LogicalExpressions.bucket(count, hashed) else LogicalExpressions.bucket(count, hashed, sorted)
  }
}

/** A constraint. A column is the path of names to it, another table the parts of its name. */
case class ConstraintAnswer(
    name: String, kind: String, predicate: Option[String], columns: Seq[Seq[String]], references: Seq[String],
    referenced: Seq[Seq[String]], enforced: Boolean, rely: Boolean, status: String)

/** A view. Its text is read with this `catalog`, `namespace` and these `settings`. */
case class ViewAnswer(
    schema: StructType, text: String, catalog: Option[String], namespace: Seq[String], settings: Map[String, String],
    schemaMode: Option[String], queryColumns: Seq[String], properties: Map[String, String])

/** A table or a view, or neither if the version of a table that the session knows is the newest. */
case class RelationAnswer(table: Option[TableAnswer], view: Option[ViewAnswer], unchanged: Boolean, past: Boolean)
/** An answer for each name of the question, or None for a name that cannot be loaded. */
case class RelationsAnswer(relations: Seq[Option[RelationAnswer]])

/** A table in the last version of a range, the range, and the key's columns. */
case class LoadedChangesAnswer(table: TableAnswer, first: Long, last: Long, keys: Seq[String])

/** One end of a range of versions: a version as its user wrote it, or a time in microseconds. */
case class ChangeEnd(version: Option[String], time: Option[Long], included: Boolean) {
  def json: JValue = JObject("version" -> version.fold[JValue](JNull)(JString(_)), "time" -> time.fold[JValue](JNull)(JInt(_)),
    "included" -> JBool(included))
}

/** Names of a key's columns in one text. */
object ChangeKeys {
  def split(text: String): Seq[String] = text.split(",").toSeq.map(_.trim).filter(_.nonEmpty)
}

/** @param branch the table, if the name is a branch's */
case class MetadataTableAnswer(name: String, kind: String, table: TableRef, schema: StructType, branch: Option[TableAnswer])

/**
 * A page of a metadata table's rows.
 *
 * @param next names the next page in a question, or None if this is the last
 * @param pushed the conditions that the planner has applied
 */
case class PageAnswer(rows: Array[Array[String]], next: Option[JValue], pushed: Seq[String])

/**
 * How the planner uses each predicate of a question, in order; see `PushedPredicate`.
 *
 * @param scan the plan of the scan that the question foresees, or None
 * @param columns the columns that this plan reads
 */
case class PushedAnswer(
    exact: Seq[Boolean], again: Seq[Boolean], rowGroups: Seq[Option[RowGroupPart]], scan: Option[ScanAnswer], columns: Seq[String],
    estimate: Option[EstimateAnswer] = None)

/**
 * The part of a predicate that readers may apply to row groups: one of its leaves, or parts joined by AND,
 * OR, NOT.
 */
case class RowGroupPart(leaf: Option[Long], fn: Option[String], args: Seq[RowGroupPart])

/** For each condition, the rows of its columns' values. */
case class PartitionValuesAnswer(values: Seq[Seq[Seq[String]]])

/** For each condition, the rows of values that have directories of their own (heavy values). */
case class HeavyValuesAnswer(values: Seq[Seq[ValueRows]])
/** Rows of values, each with one value a column. */
case class ValueRows(columns: Seq[String], rows: Seq[Seq[String]])

/**
 * The files that a scan reads. A file names its partition by its index in `partitions`.
 *
 * @param filterable columns whose runtime values could prune something
 * @param runtimePruning whether runtime filters are on for the scan
 * @param mostValues the largest set of runtime values that is sent value by value
 * @param mostWait maximum wait, in milliseconds, for values that only a second run gives; None for no maximum
 * @param again for each runtime filter, in order, whether Spark has to evaluate it over the partitions'
 *   values: it is about partition columns alone, and the planner does not understand it
 * @param counts what the steps kept; sent back when runtime values have come
 * @param rowGroups ranges of runtime values, for readers to skip row groups
 * @param unused for each runtime filter, in order, why it pruned nothing, or None if it pruned something
 * @param late whether the listing of files and partitions is deferred
 * @param decided conditions of the query that pruned partitions, as text
 * @param order the reading order of the files, or None if any will do
 * @param native whether Spark's scan of files may read the files, or None if that is not wanted
 */
case class ScanAnswer(
    files: FilesAnswer, partitions: Array[Array[String]], statistics: SizesAnswer, metrics: Seq[MetricAnswer], description: String,
    report: JValue, counts: JValue, buckets: Option[BucketsAnswer], filterable: Seq[String], runtimePruning: Boolean,
    mostValues: Int, mostWait: Option[Long], again: Seq[Boolean], rowGroups: Seq[FoundRanges], unused: Seq[Option[String]], late: Boolean,
    decided: Seq[String], order: Option[FileOrder], native: Option[NativeAnswer])
/** @param reason why Spark's scan of files must not read them, or None if it may */
case class NativeAnswer(reason: Option[String])

/**
 * The reading order of a scan's files, for a query that may end before it has read all of them.
 *
 * @param ranks the rank of each file; lower ranks come first
 * @param bounds for each rank, the best value of the sort key in its files, or nothing if it is not known;
 *   empty without a sort key
 * @param column the sort key, if readers may skip row groups by the worst value that is still wanted
 */
case class FileOrder(ranks: Array[Int], bounds: Seq[Seq[String]], column: Option[String])

case class SizesAnswer(bytes: Long, rows: Option[Long], files: Int)
/** @param rows of the scan's files, or None if the optimizer estimates better without them */
case class EstimateAnswer(rows: Option[Long], columns: Seq[ColumnAnswer])
/** @param length the mean bytes of a value, or None for the default of its type */
case class ColumnAnswer(
    name: String, distinct: Long, nulls: Long, least: Option[String], greatest: Option[String], length: Option[Long],
    histogram: Option[HistogramAnswer])
/** @param ends where bins begin, and where the last one ends */
case class HistogramAnswer(height: Double, ends: Seq[Double], distinct: Seq[Long])
case class MetricAnswer(name: String, text: String, value: Option[Long])
/** Ranges that contain all runtime values of a column, each as its minimum and maximum. */
case class FoundRanges(column: String, ends: Seq[Seq[String]], values: Seq[String])

/**
 * The files of a scan, column by column: each array has one element a file. The names are one text, joined by
 * slashes, which no name contains. A scan may have a million files, so a file is no object until Spark needs
 * it as one.
 */
case class FilesAnswer(
    folders: Array[String], names: String, folder: Array[Int], partition: Array[Int], bytes: Array[Long], modified: Array[Long],
    bucket: Array[Int], rows: Array[Long], values: Array[Array[String]], value: Array[Int]) {
  def count: Int = bytes.length
  def eachName: Iterator[String] = {
    var start = 0
    Iterator.fill(count) {
      val slash = names.indexOf('/', start)
      val end = if (slash < 0) names.length else slash
      val name = names.substring(start, end)
      start = end + 1
      name
    }
  }
  /** The paths of the files, in the form of `FileColumn`. */
  def paths: Iterator[String] = eachName.zipWithIndex.map { case (name, i) => folders(folder(i)) + "/" + name }
}

/**
 * The buckets of a scan's rows.
 *
 * @param count number of buckets that Spark is to know
 * @param held number of buckets of the files, a divisor of `count`; if it is less, each file is read for
 *   several buckets
 * @param columns the hashed columns in the order of hashing
 * @param types their types in the table
 * @param order the columns that each file is sorted by
 * @param merged whether the files of a bucket are to be read as one, in this order
 * @param larger whether a join with a table of more buckets is to use the other table's number
 * @param outside bytes of the files in no bucket, or in others; their bucket is -1
 * @param sizes the rows, bytes and files of each bucket, for the planner, or JNull if they are not known
 * @param least the fewest rows of a bucket that may be split
 * @param hot whether a bucket has far more rows than others
 */
case class BucketsAnswer(
    version: String, count: Int, held: Int, columns: Seq[String], types: Seq[DataType], order: Seq[OrderAnswer], merged: Boolean,
    larger: Boolean, outside: Long, sizes: JValue, least: Long, hot: Boolean)
case class OrderAnswer(column: String, descending: Boolean)

/**
 * The decisions about the joins of a query.
 *
 * @param verdicts on candidates for runtime filters, in the order of the question
 * @param bucketCounts the number of buckets that each scan of the question reports to Spark
 * @param inPlace the number of buckets that each scan is read in place in, or 0 if it is not
 * @param splits what is split of each join of the question
 * @param skewSplits on heavy keys, in the order of the question
 */
case class JoinsAnswer(verdicts: Seq[VerdictAnswer], bucketCounts: Seq[Long], inPlace: Seq[Long], splits: Seq[SplitAnswer],
    skewSplits: Seq[SkewSplitAnswer])
/** Lines of EXPLAIN about the joins of a query. */
case class JoinLinesAnswer(lines: Seq[String])
/**
 * The hot buckets of a join that several tasks read.
 *
 * @param side the side whose rows are divided, or None if no bucket is split
 * @param texts for each side what EXPLAIN and the report say, or None
 */
case class SplitAnswer(side: Option[Int], buckets: Seq[PiecesAnswer], texts: Seq[Option[String]])
/**
 * The tasks of a bucket.
 *
 * @param interleaved whether each task reads all files of the bucket, and uses some of the batches
 */
case class PiecesAnswer(bucket: Int, pieces: Int, interleaved: Boolean)
/**
 * The planner's decision on the heavy keys of a join: their values, which are joined apart, or the reason
 * against.
 */
case class SkewSplitAnswer(columns: Seq[String], values: Seq[Seq[String]], share: Option[Double], reason: String)
/**
 * The planner's verdict on a candidate for a runtime filter: where its values come from, or why there is no
 * filter.
 *
 * @param tuple a number that candidates share whose values are taken together, or None if they are taken
 *   alone
 */
case class VerdictAnswer(how: Outcome, reason: String, tuple: Option[Long]) {
  /** Whether the plan gets a filter of ours. */
  def wanted: Boolean = how match {
    case Outcome.Shared | Outcome.Collected | Outcome.Ends => true
    case Outcome.Spark | Outcome.Known | Outcome.Replaced | Outcome.Refused => false
  }
}

/**
 * Where the values of a runtime filter come from. The names are the values of `How` in
 * `prune/report/join_values.py`.
 */
sealed abstract class Outcome(val name: String)
object Outcome {
  /** From the join's broadcast, or from nowhere. */
  case object Shared extends Outcome("shared")
  /** From the join's broadcast, or from a second run of the build side. */
  case object Collected extends Outcome("collected")
  /** A key range instead of values: the minimum and maximum in the file statistics. */
  case object Ends extends Outcome("ends")
  /** From Spark's own dynamic filter. */
  case object Spark extends Outcome("spark")
  /** From the metastore, while the query is planned. */
  case object Known extends Outcome("known")
  /** From another candidate's filter, which replaces this one. */
  case object Replaced extends Outcome("replaced")
  case object Refused extends Outcome("refused")

  private val all = Seq(Shared, Collected, Ends, Spark, Known, Replaced, Refused)
  def of(name: String): Outcome = all.find(_.name == name).getOrElse(
    throw new IllegalArgumentException(s"not an outcome in the planner's answer: $name"))
}

case class MaybeAggregateAnswer(aggregated: Option[AggregateAnswer])
/**
 * An aggregate from the metastore.
 *
 * @param files number of files whose rows are not in it, and have to be read
 */
case class AggregateAnswer(schema: StructType, rows: Array[Array[String]], description: String, report: JValue, files: Int) {
  def sparkRows: Array[InternalRow] = Json.toRows(rows, schema)
}

case class ProcedureAnswer(name: String, description: String, parameters: Seq[ParameterAnswer])
/** A parameter; its type is DDL, its default SQL. */
case class ParameterAnswer(name: String, `type`: String, comment: String, default: Option[String])

/**
 * The rows that a procedure returned; `changed` is the database and name of a table that it gave a new
 * version.
 */
case class CallAnswer(
    schema: StructType, rows: Array[Array[String]], changed: Option[Seq[String]], transaction: Option[String]) {
  def sparkRows: Array[InternalRow] = Json.toRows(rows, schema)
}

/**
 * Why the planner has no answer.
 *
 * @param name what an error of Spark's own kind (no such table, …) is about
 */
case class PlannerError(code: String, message: String, name: Seq[String], sqlstate: String)

/**
 * Terms that the planner sends once, when a session is attached, and that hold for all questions
 * (`planner/protocol/terms.py`). So rules that ask the planner nothing follow its limits, too, and no query
 * waits for them.
 *
 * @param transparentJoins pairs of a join type and a side: the join passes this side's rows on, and adds no
 *   values to its columns
 * @param reading questions that change nothing, which may be asked a second time
 * @param joinSettings names of Spark's settings that decide whether joins shuffle
 */
case class Terms(limits: Limits, transparentJoins: Set[(String, String)], reading: Set[String], joinSettings: Seq[String],
  functions: Set[String])

/**
 * Limits of the planner's cost model that rules obey; `joins/runtime/cost_model.py` has their units and
 * reasons, and further limits.
 */
@JsonIgnoreProperties(ignoreUnknown = true)
case class Limits(
    joinedTables: Int, conditionJoins: Int, planningRounds: Int, nestedFilters: Int, evaluatedRows: Int, cachedBytesRead: Int,
    listedValues: Int, expandedTuples: Int, tuples: Int, boxes: Int)
