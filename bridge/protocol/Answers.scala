package org.apache.spark.sql.parquetry.protocol

import java.nio.{ByteBuffer, ByteOrder}
import java.util.Base64

import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, render}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.{LogicalExpressions, NamedReference, Transform}
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * One version of a table; `identity` is what the next questions about it name, `arrangedBy` says how its files lie within a partition,
 * `directories` whether there may be directories for heavy values.
 */
case class TableAnswer(
    name: String, identity: JValue, id: String, version: Long, logical: StructType, physical: StructType,
    partitionColumns: Seq[String], format: String, properties: Map[String, String], arrangedBy: Seq[Transform],
    constraints: Seq[ConstraintAnswer], clauses: Map[String, String], details: Seq[(String, String)], directories: Boolean)

/** A constraint; each column by the names that lead to it, another table by the parts of its name. */
case class ConstraintAnswer(
    name: String, kind: String, predicate: String, columns: Seq[Seq[String]], references: Seq[String],
    referenced: Seq[Seq[String]], enforced: Boolean, rely: Boolean, status: String)

/** A view; `catalog`, `namespace` and `settings` are those by which its text is read. */
case class ViewAnswer(
    schema: StructType, text: String, catalog: String, namespace: Seq[String], settings: Map[String, String],
    schemaMode: String, queryColumns: Seq[String], properties: Map[String, String])

case class MetadataTableAnswer(name: String, kind: String, identity: JValue, schema: StructType)

/**
 * Some rows of a metadata table; `next` is what the question about those behind them names, if there are any, `pushed` the conditions
 * by which others were not read.
 */
case class PageAnswer(rows: Array[InternalRow], next: Option[JValue], pushed: Seq[String])

/** What predicates are good for, one for one; see `PushedPredicate`. */
case class PushedAnswer(exact: Seq[Boolean], again: Seq[Boolean], rowGroups: Seq[Option[RowGroupPart]])

/** What of a predicate the readers may use on row groups: one of its leaves, or parts joined by AND, OR or NOT. */
sealed trait RowGroupPart
case class RowGroupLeaf(number: Int) extends RowGroupPart
case class RowGroupParts(function: String, parts: Seq[RowGroupPart]) extends RowGroupPart

/** Rows of values of some columns. */
case class ValueRows(columns: Seq[String], rows: List[List[JValue]])

/**
 * What a scan reads; a file names its partition by its place in `partitions`.
 *
 * @param count how many files
 * @param filterable columns of which values that a join finds at run time can leave something out
 * @param mostValues of one set of these, that may be told one by one
 * @param mostWait how many milliseconds values are waited for that something runs for alone; None: until they are there
 * @param again of what was found, one for one, what is about partition columns alone and not understood: Spark evaluates it over their values
 * @param rowGroups what was found that the readers may leave row groups out by
 * @param unused of what was found, one for one, why it leaves nothing out; None: it leaves something out
 * @param late whether files and partitions are yet to be asked for
 * @param decided conditions of the query that left out partitions, as text
 */
case class ScanAnswer(
    files: FilesAnswer, partitions: IndexedSeq[InternalRow], bytes: Option[Long], rows: Option[Long], count: Int,
    metrics: Seq[MetricAnswer], description: String, report: JValue, buckets: Option[BucketsAnswer], filterable: Seq[String],
    mostValues: Int, mostWait: Option[Long], again: Seq[Boolean], rowGroups: Seq[FoundRanges],
    unused: Seq[Option[String]], late: Boolean, decided: Seq[String])

/** Ranges that hold all values of a column that a join has found, by the least and the greatest of each. */
case class FoundRanges(column: String, ends: Seq[(JValue, JValue)], values: Seq[JValue])
case class MetricAnswer(name: String, text: String, value: Option[Long])

/**
 * The buckets that all rows of a scan lie in.
 *
 * @param count how many Spark is to know
 * @param held how many of them files are in: a divisor of `count`, and if it is less, each file is read for several of these
 * @param columns in the order in which they are hashed, with the types that they have in the table
 * @param order what each file is sorted by, and whether downwards
 * @param larger whether a join with a table of more buckets is to be made in as many as that one has
 */
case class BucketsAnswer(
    version: String, count: Int, held: Int, columns: Seq[(String, DataType)], order: Seq[(String, Boolean)], larger: Boolean)

/**
 * What becomes of values that a join could find: how they are taken, or why they are not.
 *
 * @param tuple number of those that are taken together; None: they are taken alone
 */
case class VerdictAnswer(outcome: Outcome, reason: String, tuple: Option[Long] = None) {
  /** Whether a filter of ours is to be put into the plan. */
  def wanted: Boolean = outcome match {
    case Outcome.Shared | Outcome.Collected | Outcome.Ends => true
    case Outcome.Spark | Outcome.Known | Outcome.Replaced | Outcome.Refused => false
  }
}

/** How values of a join are taken; the name is that of `How` in `prune/report/join_values.py`. */
sealed abstract class Outcome(val name: String)
object Outcome {
  /** From the broadcast of the join, or not at all. */
  case object Shared extends Outcome("shared")
  /** From the broadcast of the join, or by one more run of the build side. */
  case object Collected extends Outcome("collected")
  /** The least and the greatest of them, as statistics of files tell them. */
  case object Ends extends Outcome("ends")
  /** By Spark, with a filter of its own. */
  case object Spark extends Outcome("spark")
  /** While the query is planned. */
  case object Known extends Outcome("known")
  /** Another candidate has them. */
  case object Replaced extends Outcome("replaced")
  case object Refused extends Outcome("refused")

  private val all = Seq(Shared, Collected, Ends, Spark, Known, Replaced, Refused)
  def of(name: String): Outcome = all.find(_.name == name).getOrElse(
    throw new IllegalArgumentException(s"not an outcome in the planner's answer: $name"))
}

case class AggregateAnswer(schema: StructType, rows: Array[InternalRow], description: String, report: JValue)

case class ProcedureAnswer(name: String, description: String, parameters: Seq[ParameterAnswer])
case class ParameterAnswer(name: String, dataType: DataType, comment: String, default: Option[String])

/** What a procedure gave; `changed` is the database and name of a table that has another version now. */
case class CallAnswer(schema: StructType, rows: Array[InternalRow], changed: Option[Seq[String]])

/**
 * The files of a scan, a place in each array for each; `names` are joined by slashes, which no name holds. There may be a
 * million of them: none is an object before it is one of Spark's.
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
  /** Names with their folders, as `FileColumn` has them. */
  def paths: Iterator[String] = names.zipWithIndex.map { case (name, i) => folders(folder(i)) + "/" + name }
}

/** Reads what the planner answers, each answer here and nowhere else; `planner/protocol/answers.py` is the other side. */
object Answers {
  /** What is told once, as the answer to no question. */
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
  /** What was written, by its name. */
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
    Option(text(of \ "status")).getOrElse("UNVALIDATED")) // fields that have their defaults are left out
  private def pathsOf(value: JValue): Seq[Seq[String]] = value.children.map(texts)

  def relation(answer: JValue): Either[TableAnswer, ViewAnswer] = answer \ "view" match {
    case view: JObject => Right(ViewAnswer(
      schema(view), text(view \ "text"), text(view \ "catalog"), texts(view \ "namespace"), map(view \ "settings"),
      text(view \ "schema_mode"), texts(view \ "query_columns"), properties(view)))
    case _ => Left(table(answer \ "table"))
  }

  /** Database and name of a table. */
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

  /** For each condition the rows of its columns' values, as they are sent back. */
  def partitionValues(answer: JValue): Seq[List[JValue]] = (answer \ "values").children.map(_.children)

  /** For each condition the rows of values that directories for heavy values have. */
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
      (answer \ "unused").children.map(reason => Option(text(reason))), answer \ "late" == JBool(true), texts(answer \ "decided"))
  }

  /** How far a stream is: only the planner reads it. */
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
      schema(found), rows(found, schema(found)), text(found \ "description"), found \ "report"))
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

  /** Code, message, and what Spark's own error is about. */
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
