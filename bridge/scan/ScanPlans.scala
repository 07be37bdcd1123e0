package org.apache.spark.sql.parquetry.scan

import scala.collection.mutable

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.execution.InSubqueryExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.predicates.{EvaluatedPartitionPredicates, PartitionPredicates}
import org.apache.spark.sql.parquetry.protocol.{Answers, BucketsAnswer, Json, ScanAnswer, Settings}
import org.apache.spark.sql.parquetry.table.{HiddenColumns, ParquetryTable, PushedPredicate}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * What the planner answered of one scan: first, and then of values that arrive while the query runs. Of a large table the first answer
 * may be by its totals alone; the files are asked for when they are needed, which is when the values have come, if some come.
 *
 * @param wanted how many buckets Spark is to be told of, more or fewer, and the same files in as many as there are; None: in these
 * @param joined values of a join that were known in planning
 * @param whole the report without these
 */
class ScanPlans private (
    val table: ParquetryTable, val pushed: Seq[PushedPredicate], val required: StructType,
    val options: CaseInsensitiveStringMap, wanted: Option[(Int, ScanPlans)], val joined: Seq[JValue], whole: Option[JValue]) {
  def this(table: ParquetryTable, pushed: Seq[PushedPredicate], required: StructType, options: CaseInsensitiveStringMap) =
    this(table, pushed, required, options, None, Nil, None)

  val hidden: HiddenColumns = new HiddenColumns(table, required)
  val (partitionSchema, dataSchema) = {
    val (p, d) = required.fields.filterNot(f => hidden.names(f.name)).partition(f => table.partitionColumns.contains(f.name))
    (StructType(p), StructType(d))
  }
  val static: Seq[JValue] = pushed.map(_.tree)
  private val settings = Settings.field // files may be asked for when a session has others
  /** What the planner was told before the query runs. */
  val trees: Seq[JValue] = static ++ joined
  /** What Spark plans by: by the table's totals, or the same as `first`. */
  val expected: ScanAnswer = asked(Nil, whole, late = true)
  /** What is read without values that arrive while the query runs. */
  lazy val first: ScanAnswer = {
    if (expected.late) listed = Some(asked(Nil, whole))
    listed.get
  }
  @volatile private var listed = Some(expected).filterNot(_.late)
  @volatile private var latest = Option.empty[(Seq[JValue], ScanAnswer)]
  /** What was planned last. */
  def answer: ScanAnswer = latest.fold(first)(_._2)
  /** The same, unless nothing was listed yet. */
  def known: ScanAnswer = latest.map(_._2).orElse(listed).getOrElse(expected)
  def isFirst(other: ScanAnswer): Boolean = listed.exists(_ eq other)

  /** Of the files those of some paths. */
  def only(paths: Seq[String]): ScanAnswer = asked(Nil, None, files = Some(paths))

  private def asked(runtime: Seq[JValue], before: Option[JValue], late: Boolean = false, files: Option[Seq[String]] = None): ScanAnswer =
    Answers.scan(table.ref.ask("plan_scan",
    table.identity ++ Seq[JField](
      "predicates" -> JArray(static.toList),
      "joined" -> JArray(joined.toList),
      "runtime" -> JArray(runtime.toList),
      "columns" -> Json.strings(required.fieldNames.filterNot(hidden.names)),
      "late" -> JBool(late),
      Json.readOptions(options), settings) ++ before.map("before" -> _: JField)
      ++ files.map("files" -> Json.strings(_): JField)
      ++ wanted.map { case (count, _) => "buckets" -> JInt(count): JField }: _*), partitionSchema)

  // A query may come to read the files in more or fewer buckets than there are, and come back from it: one report tells what it did.

  private val own: ScanPlans = wanted.fold(this)(_._2)
  private val others = mutable.Map.empty[Int, ScanPlans]
  private var chosen = this
  /** As which the files were planned to be read at last. */
  def used: ScanPlans = own.chosen
  def in(count: Int): ScanPlans = own.synchronized {
    own.chosen = own.others.getOrElseUpdate(count, new ScanPlans(table, pushed, required, options, Some((count, own)), joined, whole))
    own.chosen
  }
  /** The same files in as many buckets as there are. */
  def inTheirOwn: ScanPlans = {
    own.chosen = own
    own
  }

  /** What of these files is left by values of a join. */
  def by(values: JValue): ScanPlans = {
    val fewer = new ScanPlans(table, pushed, required, options, None, joined :+ values, whole.orElse(Some(own.expected.report)))
    wanted.fold(fewer) { case (count, _) => fewer.in(count) }
  }

  // Values that arrive while the query runs

  /** What is read by the values that a thread has brought: Spark hands all over in one call, and then asks in the same thread. */
  private val brought = new ThreadLocal[ScanAnswer]

  /** Those that the planner has no form for, and are about partition columns alone, Spark evaluates over the partitions that the rest leaves. */
  def narrow(filters: Seq[Expression]): Unit = {
    val formed = filters.flatMap(filter => RuntimeValues.tree(filter, expected.mostValues).map(filter -> _))
    val answer = Option.when(formed.nonEmpty)(planned(formed.map(_._2)))
    val understood = formed.zip(answer.fold(Seq.empty[Boolean])(_.again)).collect { case (found, false) => found }
    val others = filters.filter(filter => !understood.exists(_._1 eq filter) && PartitionPredicates.decides(table, filter))
    val evaluated = others.zip(EvaluatedPartitionPredicates.values(table, trees ++ understood.map(_._2), others).map(_.told))
    val (all, last) =
      if (evaluated.isEmpty) (formed, answer) else (understood ++ evaluated, Some(planned((understood ++ evaluated).map(_._2))))
    last.foreach { found =>
      brought.set(found)
      own.synchronized(own.outcomes ++= all.map(one => named(one._1)).zip(found.unused))
    }
  }

  @volatile private var outcomes = Map.empty[Any, Option[String]]
  /** What tells a filter from others, without the values that it has come with. */
  private def named(filter: Expression): Any = filter match {
    case in: InSubqueryExec => in.exprId
    case other => other
  }
  /** Why a filter that has come left nothing out; None: it did, or has not come. */
  def unused(filter: Expression): Option[String] = own.outcomes.get(named(filter)).flatten
  /** Whether another has planned for the same scan. */
  def isOf(other: ScanPlans): Boolean = own eq other.own

  @volatile private var without = Seq.empty[(String, Long)]
  def miss(of: String, milliseconds: Long): Unit =
    own.synchronized { own.without = (own.without :+ (of -> milliseconds)).distinct }
  /** What a report tells of values that were not there in time. */
  def missed: JObject = {
    val told = own.without.map { case (of, most) => JObject("condition" -> JString(of), "milliseconds" -> JInt(most)) }
    if (told.isEmpty) JObject() else JObject("run_time" -> JObject("missed" -> JArray(told.toList)))
  }

  /** Copies of one place in a plan are told the same values. */
  private def planned(runtime: Seq[JValue]): ScanAnswer = synchronized {
    if (!latest.exists(_._1 == runtime)) latest = Some((runtime, asked(runtime, whole.orElse(Some(expected.report)))))
    latest.get._2
  }

  /** What is to be read by the values that this thread has brought, if it has: then they were planned for. */
  def taken(): Option[ScanAnswer] = {
    val found = Option(brought.get)
    brought.remove()
    found
  }

  /**
   * The buckets that Spark can be told of. Its function of a column takes the whole of it; and those of several columns it must
   * not take one by one (see `BucketKeys`), nor evaluate.
   */
  lazy val buckets: Option[BucketsAnswer] = expected.buckets.filter { found =>
    val conf = SQLConf.get
    def whole(column: String) =
      CharVarcharUtils.replaceCharVarcharWithString(table.logical(column).dataType).sameType(required(column).dataType)
    found.columns.forall { case (column, _) => whole(column) } &&
      (found.columns.length == 1 || !(conf.v2BucketingAllowKeysSubsetOfPartitionKeys || conf.v2BucketingShuffleEnabled))
  }
}
