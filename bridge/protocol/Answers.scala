package org.apache.spark.sql.parquetry.protocol

import java.nio.{ByteBuffer, ByteOrder}
import java.util.Base64

import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, render}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.{LogicalExpressions, NamedReference, Transform}
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * One version of a table.
 *
 * @param identity names the table and its version in later questions
 * @param arrangedBy how rows are arranged in a partition's files
 * @param directories whether there may be directories for heavy values
 */
case class TableAnswer(
    name: String, identity: JValue, id: String, version: Long, logical: StructType, physical: StructType,
    partitionColumns: Seq[String], format: String, properties: Map[String, String], arrangedBy: Seq[Transform],
    constraints: Seq[ConstraintAnswer], clauses: Map[String, String], details: Seq[(String, String)], directories: Boolean)

/** A constraint. A column is the path of names to it, another table the parts of its name. */
case class ConstraintAnswer(
    name: String, kind: String, predicate: String, columns: Seq[Seq[String]], references: Seq[String],
    referenced: Seq[Seq[String]], enforced: Boolean, rely: Boolean, status: String)

/** A view. Its text is read with this `catalog`, `namespace` and these `settings`. */
case class ViewAnswer(
    schema: StructType, text: String, catalog: String, namespace: Seq[String], settings: Map[String, String],
    schemaMode: String, queryColumns: Seq[String], properties: Map[String, String])

case class MetadataTableAnswer(name: String, kind: String, identity: JValue, schema: StructType)

/**
 * A page of a metadata table's rows.
 *
 * @param next names the next page in a question, or None if this is the last
 * @param pushed the conditions that the planner has applied
 */
case class PageAnswer(rows: Array[InternalRow], next: Option[JValue], pushed: Seq[String])

/** How the planner uses each predicate of a question, in order; see `PushedPredicate`. */
case class PushedAnswer(exact: Seq[Boolean], again: Seq[Boolean], rowGroups: Seq[Option[RowGroupPart]])

/**
 * The part of a predicate that readers may apply to row groups: one of its leaves, or parts joined by AND,
 * OR, NOT.
 */
sealed trait RowGroupPart
case class RowGroupLeaf(number: Int) extends RowGroupPart
case class RowGroupParts(function: String, parts: Seq[RowGroupPart]) extends RowGroupPart

/** Rows of values, each with one value a column. */
case class ValueRows(columns: Seq[String], rows: List[List[JValue]])

/**
 * The files that a scan reads. A file names its partition by its index in `partitions`.
 *
 * @param count number of files
 * @param filterable columns whose runtime values could prune something
 * @param mostValues the largest set of runtime values that is sent value by value
 * @param mostWait maximum wait, in milliseconds, for values that only a second run gives; None for no maximum
 * @param again for each runtime filter, in order, whether Spark has to evaluate it over the partitions'
 *   values: it is about partition columns alone, and the planner does not understand it
 * @param rowGroups ranges of runtime values, for readers to skip row groups
 * @param unused for each runtime filter, in order, why it pruned nothing, or None if it pruned something
 * @param late whether the listing of files and partitions is deferred
 * @param decided conditions of the query that pruned partitions, as text
 * @param order the reading order of the files, or None if any will do
 */
case class ScanAnswer(
    files: FilesAnswer, partitions: IndexedSeq[InternalRow], bytes: Option[Long], rows: Option[Long], count: Int,
    metrics: Seq[MetricAnswer], description: String, report: JValue, buckets: Option[BucketsAnswer], filterable: Seq[String],
    mostValues: Int, mostWait: Option[Long], again: Seq[Boolean], rowGroups: Seq[FoundRanges],
    unused: Seq[Option[String]], late: Boolean, decided: Seq[String], order: Option[FileOrder])

/**
 * The reading order of a scan's files, for a query that may end before it has read all of them.
 *
 * @param ranks the rank of each file; lower ranks come first
 * @param bounds for each rank, the best value of the sort key in its files, or None if it is not known; empty
 *   without a sort key
 */
case class FileOrder(ranks: Array[Int], bounds: IndexedSeq[Option[JValue]])

/** Ranges that contain all runtime values of a column, each as its minimum and maximum. */
case class FoundRanges(column: String, ends: Seq[(JValue, JValue)], values: Seq[JValue])
case class MetricAnswer(name: String, text: String, value: Option[Long])

/**
 * The buckets of all rows of a scan.
 *
 * @param count number of buckets that Spark is to know
 * @param held number of buckets of the files, a divisor of `count`; if it is less, each file is read for
 *   several buckets
 * @param columns the hashed columns in the order of hashing, with their types in the table
 * @param order the columns that each file is sorted by, and whether each is descending
 * @param larger whether a join with a table of more buckets is to use the other table's number
 */
case class BucketsAnswer(
    version: String, count: Int, held: Int, columns: Seq[(String, DataType)], order: Seq[(String, Boolean)], larger: Boolean)

/**
 * The planner's verdict on a candidate for a runtime filter: where its values come from, or why there is no
 * filter.
 *
 * @param tuple a number that candidates share whose values are taken together, or None if they are taken
 *   alone
 */
case class VerdictAnswer(outcome: Outcome, reason: String, tuple: Option[Long] = None) {
  /** Whether the plan gets a filter of ours. */
  def wanted: Boolean = outcome match {
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

/**
 * An aggregate from the metastore.
 *
 * @param files number of files whose rows are not in it, and have to be read
 */
case class AggregateAnswer(schema: StructType, rows: Array[InternalRow], description: String, report: JValue, files: Long)

case class ProcedureAnswer(name: String, description: String, parameters: Seq[ParameterAnswer])
case class ParameterAnswer(name: String, dataType: DataType, comment: String, default: Option[String])

/**
 * The rows that a procedure returned; `changed` is the database and name of a table that it gave a new
 * version.
 */
case class CallAnswer(schema: StructType, rows: Array[InternalRow], changed: Option[Seq[String]])

/**
 * The files of a scan, column by column: each array has one element a file. The names are one text, joined by
 * slashes, which no name contains. A scan may have a million files, so a file is no object until Spark needs
 * it as one.
 */
class FilesAnswer(
    val folders: Array[String], joined: String, val folder: Array[Int], val partition: Array[Int],
    val bytes: Array[Long], val modified: Array[Long], val bucket: Array[Int]) {
  def count: Int = bytes.length
  def names: Iterator[String] = {
    var start = 0
    Iterator.fill(count) {
      val slash = joined.indexOf('/', start)
      val end = if (slash < 0) joined.length else slash
      val name = joined.substring(start, end)
      start = end + 1
      name
    }
  }
  /** The paths of the files, in the form of `FileColumn`. */
  def paths: Iterator[String] = names.zipWithIndex.map { case (name, i) => folders(folder(i)) + "/" + name }
}

/** Decodes the planner's answers, each here and nowhere else; `planner/protocol/answers.py` encodes them. */
object Answers {
  /** Decodes what the planner sends once, before any question. */
  def terms(told: JValue): Terms = {
    val limits = told \ "limits"
    def limit(name: String): Int = long(limits \ name).toInt
    Terms(
      Limits(
        joinedTables = limit("joined_tables"),
        conditionJoins = limit("condition_joins"),
        planningRounds = limit("planning_rounds"),
        nestedFilters = limit("nested_filters"),
        evaluatedRows = limit("evaluated_rows"),
        cachedBytesRead = limit("cached_bytes_read"),
        listedValues = limit("listed_values"),
        expandedTuples = limit("expanded_tuples")),
      (told \ "transparent_joins").children.map(join => (text(join(0)), text(join(1)))).toSet,
      (told \ "reading").children.map(text).toSet)
  }

  def held(answer: JValue): Boolean = answer \ "held" == JBool(true)
  def names(answer: JValue): Seq[String] = texts(answer \ "names")
  /** The numbers of a write (files, bytes, rows, partitions), by their names. */
  def written(answer: JValue): Map[String, Long] = answer match {
    case JObject(fields) => fields.collect { case (what, JInt(n)) => what -> n.toLong }.toMap
    case _ => Map.empty
  }
  def properties(answer: JValue): Map[String, String] = map(answer \ "properties")
  def rewritten(answer: JValue): Option[String] = Option(text(answer \ "text"))
  def schema(answer: JValue): StructType = Json.struct(answer \ "schema")
  def rows(answer: JValue, schema: StructType): Array[InternalRow] =
    (answer \ "rows").children.map(Json.toRow(_, schema)).toArray

  def table(answer: JValue): TableAnswer = {
    val (table, logical) = (answer \ "table", schema(answer))
    val physical = answer \ "physical_schema" match {
      case JNull => logical
      case json => Json.struct(json)
    }
    TableAnswer(text(answer \ "name"), table, text(table \ "id"), long(table \ "version"), logical, physical,
      texts(answer \ "partition_by"), text(answer \ "format"), properties(answer), arrangedBy(answer),
      (answer \ "constraints").children.map(constraint), map(answer \ "clauses"),
      (answer \ "details").children.map(pair => (text(pair(0)), text(pair(1)))), answer \ "directories" == JBool(true))
  }

  private def arrangedBy(answer: JValue): Seq[Transform] = {
    def references(paths: Seq[Seq[String]]): Array[NamedReference] = paths.map(LogicalExpressions.reference).toArray
    def columns(of: JValue) = references(texts(of).map(Seq(_)))
    val buckets: Option[Transform] = Option(answer \ "bucketing").collect { case of: JObject =>
      val (hashed, sorted, count) = (columns(of \ "columns"), columns(of \ "sorted_by"), long(of \ "count").toInt)
      if (sorted.isEmpty) LogicalExpressions.bucket(count, hashed) else LogicalExpressions.bucket(count, hashed, sorted)
    }
    val paths = pathsOf(answer \ "clustered_by")
    buckets.toSeq ++ Option.when(paths.nonEmpty)(LogicalExpressions.clusterBy(references(paths)))
  }

  private def constraint(of: JValue): ConstraintAnswer = ConstraintAnswer(
    text(of \ "name"), text(of \ "kind"), text(of \ "predicate"), pathsOf(of \ "columns"), texts(of \ "references"),
    pathsOf(of \ "referenced"), of \ "enforced" == JBool(true), of \ "rely" == JBool(true),
    Option(text(of \ "status")).getOrElse("UNVALIDATED")) // the planner leaves out fields with default values
  private def pathsOf(value: JValue): Seq[Seq[String]] = value.children.map(texts)

  def relation(answer: JValue): Either[TableAnswer, ViewAnswer] = answer \ "view" match {
    case view: JObject => Right(ViewAnswer(
      schema(view), text(view \ "text"), text(view \ "catalog"), texts(view \ "namespace"), map(view \ "settings"),
      text(view \ "schema_mode"), texts(view \ "query_columns"), properties(view)))
    case _ => Left(table(answer \ "table"))
  }

  /** A table's database and name. */
  def path(identity: JValue): Seq[String] = Seq(text(identity \ "database"), text(identity \ "table"))

  def metadataTable(answer: JValue): MetadataTableAnswer =
    MetadataTableAnswer(text(answer \ "name"), text(answer \ "kind"), answer \ "table", schema(answer))

  def page(answer: JValue, schema: StructType): PageAnswer =
    PageAnswer(rows(answer, schema), Option(answer \ "next").filter(_.isInstanceOf[JObject]), (answer \ "pushed").children.map(text))

  def pushed(answer: JValue): PushedAnswer = PushedAnswer(
    flags(answer \ "exact"), flags(answer \ "again"), (answer \ "row_groups").children.map {
      case JNull => None
      case part => Some(rowGroupPart(part))
    })
  private def rowGroupPart(part: JValue): RowGroupPart = part \ "leaf" match {
    case JInt(number) => RowGroupLeaf(number.toInt)
    case _ => RowGroupParts(text(part \ "fn"), (part \ "args").children.map(rowGroupPart))
  }

  /** For each condition, the rows of its columns' values; the same JSON is sent back. */
  def partitionValues(answer: JValue): Seq[List[JValue]] = (answer \ "values").children.map(_.children)

  /** For each condition, the rows of values that have directories of their own (heavy values). */
  def heavyValues(answer: JValue): Seq[Seq[ValueRows]] = (answer \ "values").children.map(_.children.map(found =>
    ValueRows(texts(found \ "columns"), (found \ "rows").children.map(_.children))))

  def scan(answer: JValue, partitionSchema: StructType): ScanAnswer = {
    val statistics = answer \ "statistics"
    ScanAnswer(
      files(answer \ "files"),
      (answer \ "partitions").children.map(Json.toRow(_, partitionSchema)).toIndexedSeq,
      number(statistics \ "bytes"), number(statistics \ "rows"), number(statistics \ "files").getOrElse(0L).toInt,
      (answer \ "metrics").children.map(m => MetricAnswer(text(m \ "name"), text(m \ "text"), number(m \ "value"))),
      text(answer \ "description"), answer \ "report", buckets(answer \ "buckets"), texts(answer \ "filterable"),
      number(answer \ "most_values").getOrElse(0L).toInt, number(answer \ "most_wait"), flags(answer \ "again"),
      (answer \ "row_groups").children.map(found => FoundRanges(
        text(found \ "column"), (found \ "ends").children.map(ends => (ends(0), ends(1))), (found \ "values").children)),
      (answer \ "unused").children.map(reason => Option(text(reason))), answer \ "late" == JBool(true), texts(answer \ "decided"),
      order(answer \ "order"))
  }

  private def order(answer: JValue): Option[FileOrder] = answer match {
    case found: JObject => Some(FileOrder(
      ints(found \ "ranks"), (found \ "bounds").children.map(_.children.headOption).toIndexedSeq))
    case _ => None
  }

  /** A stream's position; only the planner interprets it. */
  def position(answer: JValue): String = text(answer \ "position")

  private def buckets(answer: JValue): Option[BucketsAnswer] = answer match {
    case found: JObject => Some(BucketsAnswer(
      text(found \ "version"), long(found \ "count").toInt, long(found \ "held").toInt,
      texts(found \ "columns").zip((found \ "types").children.map(t => DataType.fromJson(compact(render(t))))),
      (found \ "order").children.map(o => (text(o \ "column"), o \ "descending" == JBool(true))),
      found \ "larger" == JBool(true)))
    case _ => None
  }

  private def files(answer: JValue): FilesAnswer = new FilesAnswer(
    texts(answer \ "folders").toArray, text(answer \ "names"), ints(answer \ "folder"), ints(answer \ "partition"),
    longs(answer \ "bytes"), longs(answer \ "modified"), answer \ "bucket" match {
      case buckets: JString => ints(buckets)
      case _ => Array.empty
    })
  private def ints(value: JValue): Array[Int] = {
    val found = numbers(value).asIntBuffer()
    val array = new Array[Int](found.remaining())
    found.get(array)
    array
  }
  private def longs(value: JValue): Array[Long] = {
    val found = numbers(value).asLongBuffer()
    val array = new Array[Long](found.remaining())
    found.get(array)
    array
  }
  private def numbers(value: JValue): ByteBuffer =
    ByteBuffer.wrap(Base64.getDecoder.decode(text(value))).order(ByteOrder.LITTLE_ENDIAN)

  def aggregate(answer: JValue): Option[AggregateAnswer] = answer \ "aggregated" match {
    case found: JObject => Some(AggregateAnswer(
      schema(found), rows(found, schema(found)), text(found \ "description"), found \ "report", number(found \ "files").getOrElse(0L)))
    case _ => None
  }

  def verdicts(answer: JValue): Seq[VerdictAnswer] =
    (answer \ "verdicts").children.map(v => VerdictAnswer(Outcome.of(text(v \ "how")), text(v \ "reason"), number(v \ "tuple")))

  def procedure(answer: JValue): ProcedureAnswer = ProcedureAnswer(
    text(answer \ "name"), text(answer \ "description"), (answer \ "parameters").children.map { p =>
      ParameterAnswer(text(p \ "name"), DataType.fromDDL(text(p \ "type")), text(p \ "comment"), Option(text(p \ "default")))
    })

  def called(answer: JValue): CallAnswer = CallAnswer(schema(answer), rows(answer, schema(answer)), answer \ "changed" match {
    case parts: JArray => Some(texts(parts))
    case _ => None
  })

  /** The error of an answer, or None if the question was answered. */
  def error(answer: JValue): Option[PlannerError] = answer \ "error" match {
    case error: JObject =>
      Some(PlannerError(text(error \ "code"), text(error \ "message"), texts(error \ "name"), text(error \ "sqlstate")))
    case _ => None
  }

  private def text(value: JValue): String = value match {
    case JString(s) => s
    case _ => null
  }
  private def number(value: JValue): Option[Long] = value match {
    case JInt(n) => Some(n.toLong)
    case JLong(n) => Some(n)
    case _ => None
  }
  private def long(value: JValue): Long =
    number(value).getOrElse(throw new IllegalArgumentException(s"not a whole number in the planner's answer: $value"))
  private def flags(value: JValue): Seq[Boolean] = value.children.map(_ == JBool(true))
  private def texts(value: JValue): Seq[String] = value.children.map(text)
  private def map(value: JValue): Map[String, String] = value match {
    case JObject(fields) => fields.collect { case (k, JString(v)) => k -> v }.toMap
    case _ => Map.empty
  }
}

/**
 * Why the planner has no answer.
 *
 * @param name what an error of Spark's own kind (no such table, …) is about
 */
case class PlannerError(code: String, message: String, name: Seq[String], sqlState: String)
