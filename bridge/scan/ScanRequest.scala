package org.apache.spark.sql.parquetry.scan

import org.json4s._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, SortOrder}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.protocol.{AggregateAnswer, AuditMode, BucketsAnswer, EstimateAnswer, Json, NativeEngine, PlannerAnswer, ScanAnswer, Settings}
import org.apache.spark.sql.parquetry.table.{ForeseenPlan, HiddenColumns, ParquetryTable, PushedPredicate}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * The claims of a request, as Spark evaluates them.
 *
 * @param values conditions by values of build sides; one is None if Spark has no form for it
 * @param order the order of the first rows that are needed
 * @param answered what the metastore has answered of the files that are left out, and the functions
 */
case class Claimed(values: Seq[Option[Expression]] = Nil, order: Option[SortOrder] = None, answered: Option[(AggregateAnswer, Seq[JValue])] = None)

/**
 * A query's request to read a table, and the question about it. A request does not change.
 *
 * @param pushed the query's own conditions
 * @param planTimeValues key values of build sides that are known while planning
 * @param bucketCount number of buckets to report to Spark, or None for the table's own
 * @param place buckets that the scan is read in place in, or None
 * @param needed what the query needs of the rows, if not all of them: fields of the question
 * @param foreseen the plan that came with the answer to the conditions, or None
 * @param claimed what an audit needs to know of values, of the order of `needed` and of its answers
 * @param reference whether an audit compares another scan with this one
 */
case class ScanRequest(
    table: ParquetryTable, pushed: Seq[PushedPredicate], required: StructType, options: CaseInsensitiveStringMap,
    planTimeValues: Seq[JValue] = Nil, bucketCount: Option[Int] = None, place: Option[BucketsAnswer] = None,
    needed: Option[JObject] = None, foreseen: Option[ForeseenPlan] = None, claimed: Claimed = Claimed(),
    reference: Boolean = false) {
  // Kept, as the session's settings may change before the next question.
  private val settings = Settings.field
  private val engine = NativeEngine.question(SparkSession.active)

  /** Whether nothing may be claimed: neither buckets, nor rows of files that are not opened. */
  val isReference: Boolean = reference || AuditMode.isReference

  val hidden: HiddenColumns = new HiddenColumns(table, required)
  val (partitionSchema, dataSchema) = {
    val (p, d) = required.fields.filterNot(f => hidden.names(f.name)).partition(f => table.partitionColumns.contains(f.name))
    (StructType(p), StructType(d))
  }

  val conditions: Seq[JValue] = pushed.map(_.tree)
  val skipping: Option[String] = ScanRequest.skipping(options)
  private val columns: Seq[String] = required.fieldNames.filterNot(hidden.names).toSeq
  private val opensAll: Boolean = !hidden.isEmpty || skipping.isDefined || isReference
  /** All that the planner knows before the query runs. */
  def planTimeConditions: Seq[JValue] = conditions ++ planTimeValues

  /**
   * Asks the planner which files to read.
   *
   * @param runtimeValues filters whose values have arrived
   * @param before what the scan's steps kept without values of joins, for the report
   * @param mayEstimate whether the planner may answer by the table's totals, without files
   * @param files paths of the only files to read, or None for all
   * @param apart whether the report names only conditions that prune something by themselves
   */
  def ask(
      runtimeValues: Seq[JValue] = Nil, before: Option[JValue] = None, mayEstimate: Boolean = false,
      files: Option[Seq[String]] = None, apart: Boolean = false): ScanAnswer =
    if (isForeseen(runtimeValues, before, mayEstimate, files, apart)) foreseen.get.answer
    else planner(files)("plan_scan",
      Seq[JField](
        "predicates" -> JArray(conditions.toList),
        "joined" -> JArray(planTimeValues.toList),
        "runtime" -> JArray(runtimeValues.toList),
        "columns" -> Json.strings(columns),
        "late" -> JBool(mayEstimate),
        "opens_all" -> JBool(opensAll),
        engine, Json.readOptions(options), settings) ++ before.map("before" -> _: JField)
        ++ files.map("files" -> Json.strings(_): JField)
        ++ Option.when(apart)("apart" -> JBool(true): JField)
        ++ needed.fold(List.empty[JField])(_.obj)
        ++ place.map(buckets => "place" -> JObject("version" -> JString(buckets.version), "count" -> JInt(buckets.count),
          "held" -> JInt(buckets.held), "columns" -> Json.strings(buckets.columns)): JField)
        ++ bucketCount.map(count => "buckets" -> JInt(count): JField)).as[ScanAnswer]

  /** The rows of the files, and the statistics of all columns that are read, foreseen or by a question. */
  def estimate: EstimateAnswer = foreseen
    .filter(plan => planTimeValues.isEmpty && plan.columns == columns && plan.conditions == conditions).flatMap(_.estimate)
    .getOrElse(askedEstimate)
  private def askedEstimate: EstimateAnswer = ScanRequest.estimate(table, columns, conditions, planTimeValues, options, settings)

  /** A statement that rewrites files asks once about each choice of files, so the answer is not kept. */
  private def planner(files: Option[Seq[String]]): (String, Seq[JField]) => PlannerAnswer =
    if (files.isDefined) (op, fields) => table.ref.ask(op, table.identity ++ fields: _*) else (op, fields) => table.askOnce(op, fields: _*)

  /** Whether a question is the one that the foreseen plan answers. */
  private def isForeseen(
      runtimeValues: Seq[JValue], before: Option[JValue], mayEstimate: Boolean, files: Option[Seq[String]], apart: Boolean): Boolean =
    foreseen.exists(plan => plan.columns == columns && plan.opensAll == opensAll && plan.conditions == conditions) && mayEstimate && !apart &&
      runtimeValues.isEmpty && planTimeValues.isEmpty && Seq(before, files, bucketCount, place, needed).forall(_.isEmpty)
}

object ScanRequest {
  /** Asks for the rows that conditions leave, and for the statistics of columns. */
  def estimate(
      table: ParquetryTable, columns: Seq[String], conditions: Seq[JValue] = Nil, planTimeValues: Seq[JValue] = Nil,
      options: CaseInsensitiveStringMap = CaseInsensitiveStringMap.empty(), settings: JField = Settings.field): EstimateAnswer =
    table.askOnce("estimate_scan", "predicates" -> JArray(conditions.toList), "joined" -> JArray(planTimeValues.toList),
      "columns" -> Json.strings(columns), Json.readOptions(options), settings).as[EstimateAnswer]

  /** The setting that has readers skip files that are missing or damaged: then expected rows may not come. */
  def skipping(options: CaseInsensitiveStringMap): Option[String] = {
    def isOn(name: String, inSession: Boolean) = options.getBoolean(name, inSession)
    if (isOn("ignoreMissingFiles", SQLConf.get.ignoreMissingFiles)) Some("ignoreMissingFiles")
    else if (isOn("ignoreCorruptFiles", SQLConf.get.ignoreCorruptFiles)) Some("ignoreCorruptFiles")
    else None
  }
}
