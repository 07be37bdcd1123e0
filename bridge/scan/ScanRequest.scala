package org.apache.spark.sql.parquetry.scan

import org.json4s._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.protocol.{BucketsAnswer, Json, ScanAnswer, Settings}
import org.apache.spark.sql.parquetry.table.{HiddenColumns, ParquetryTable, PushedPredicate}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * A query's request to read a table, and the question about it. A request does not change.
 *
 * @param pushed the query's own conditions
 * @param planTimeValues key values of build sides that are known while planning
 * @param bucketCount number of buckets to report to Spark, or None for the table's own
 * @param place buckets that the scan is read in place in, or None
 * @param needed what the query needs of the rows, if not all of them: fields of the question
 */
case class ScanRequest(
    table: ParquetryTable, pushed: Seq[PushedPredicate], required: StructType, options: CaseInsensitiveStringMap,
    planTimeValues: Seq[JValue] = Nil, bucketCount: Option[Int] = None, place: Option[BucketsAnswer] = None,
    needed: Option[JObject] = None) {
  // Kept, as the session's settings may change before the next question.
  private val settings = Settings.field
  private val engine = NativeEngine.question(SparkSession.active)

  val hidden: HiddenColumns = new HiddenColumns(table, required)
  val (partitionSchema, dataSchema) = {
    val (p, d) = required.fields.filterNot(f => hidden.names(f.name)).partition(f => table.partitionColumns.contains(f.name))
    (StructType(p), StructType(d))
  }

  val conditions: Seq[JValue] = pushed.map(_.tree)
  /** The setting that has readers skip files that are missing or damaged: then expected rows may not come. */
  val skipping: Option[String] = {
    def isOn(name: String, inSession: Boolean) = options.getBoolean(name, inSession)
    if (isOn("ignoreMissingFiles", SQLConf.get.ignoreMissingFiles)) Some("ignoreMissingFiles")
    else if (isOn("ignoreCorruptFiles", SQLConf.get.ignoreCorruptFiles)) Some("ignoreCorruptFiles")
    else None
  }
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
    table.ref.ask("plan_scan",
      table.identity ++ Seq[JField](
        "predicates" -> JArray(conditions.toList),
        "joined" -> JArray(planTimeValues.toList),
        "runtime" -> JArray(runtimeValues.toList),
        "columns" -> Json.strings(required.fieldNames.filterNot(hidden.names)),
        "late" -> JBool(mayEstimate),
        "opens_all" -> JBool(!hidden.isEmpty || skipping.isDefined),
        engine, Json.readOptions(options), settings) ++ before.map("before" -> _: JField)
        ++ files.map("files" -> Json.strings(_): JField)
        ++ Option.when(apart)("apart" -> JBool(true): JField)
        ++ needed.fold(List.empty[JField])(_.obj)
        ++ place.map(buckets => "place" -> JObject("version" -> JString(buckets.version), "count" -> JInt(buckets.count),
          "held" -> JInt(buckets.held), "columns" -> Json.strings(buckets.columns)): JField)
        ++ bucketCount.map(count => "buckets" -> JInt(count): JField): _*).as[ScanAnswer]
}

/**
 * An engine that runs plans outside of the JVM. Each takes a scan for its own if it is Spark's scan of files.
 *
 * @param name for reports
 * @param classes the package of its rules
 * @param setting turns it off if it is `false`
 */
case class NativeEngine(name: String, classes: String, setting: String)

object NativeEngine {
  private val all = Seq(
    NativeEngine("Comet", "org.apache.comet.", "spark.comet.enabled"),
    NativeEngine("Gluten", "org.apache.gluten.", "spark.gluten.enabled"),
    NativeEngine("RAPIDS", "com.nvidia.spark.rapids.", "spark.rapids.sql.enabled"))

  /** The engine whose rules a session has, unless a setting turns it off. */
  def of(session: SparkSession): Option[NativeEngine] = session match {
    case classic: ClassicSession =>
      val rules = classic.sessionState.columnarRules.map(_.getClass.getName)
      all.find(engine => rules.exists(_.startsWith(engine.classes)) &&
        classic.sessionState.conf.getConfString(engine.setting, "true").trim.toLowerCase != "false")
    case _ => None
  }

  /** Settings of Spark that change which column of a file is read for a column of a table. */
  private val matching = Seq(SQLConf.CASE_SENSITIVE, SQLConf.PARQUET_FIELD_ID_READ_ENABLED)

  /** The question's field about the engine. The planner decides which scans it may read. */
  def question(session: SparkSession): JField = "engine" -> JObject(
    "name" -> of(session).fold[JValue](JNull)(engine => JString(engine.name)),
    "matching" -> Json.strings(matching.filter(SQLConf.get.getConf(_)).map(_.key)))
}
