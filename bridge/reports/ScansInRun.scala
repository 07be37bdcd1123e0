package org.apache.spark.sql.parquetry.reports

import org.json4s._

import org.apache.spark.sql.execution.{
  ColumnarToRowTransition, FileSourceScanExec, FilterExec, InputAdapter, QueryExecution, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.parquetry.filescans.{PlanNodes, ScanNode}
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.parquetry.protocol.{CatalogRef, Json}
import org.apache.spark.sql.parquetry.scan.{Asked, ParquetryScan, Reported}

/**
 * The scans in the plan that ran. Adaptive execution drops a scan if the other side of its join is empty, and
 * an equal scan may serve two places.
 *
 * @param filled whether the run filled a cache itself
 */
class ScansInRun(plan: SparkPlan, val filled: InMemoryRelation => Boolean) {
  private val nodes = PlanNodes(plan)
  private val scans: Seq[ParquetryScan] = nodes.collect { case ScanNode(scan: ParquetryScan, _) => scan }
  private val bySpark = nodes.collect { case node: FileSourceScanExec => node }.collect { case ScanNode(scan: ParquetryScan, _) => scan }

  /** Whether the plan has scans of ours. */
  def any: Boolean = scans.nonEmpty

  /** The outcome for a scan of the optimized plan. */
  def read(scan: Reported): String = scan match {
    case ours: ParquetryScan if !scans.exists(_.isVariantOf(ours)) => "dropped"
    case _ => "read"
  }

  /** Whether Spark itself read a scan's files by its scan of files. */
  def readBySpark(scan: Reported): Boolean = scan match {
    case ours: ParquetryScan => bySpark.exists(_.isVariantOf(ours))
    case _ => false
  }

  /**
   * The rows that a scan and the conditions right above it gave, and how many the optimizer expected of them.
   * None if it expected no number, as without cost-based optimizer, or if the plan has the scan twice.
   */
  def rows(scan: Reported): Option[(Long, Long)] = for {
    node <- lastNode(scan)
    rows <- node.metrics.get("numOutputRows")
    expected <- node.logicalLink.flatMap(_.stats.rowCount)
  } yield (rows.value, expected.min(Long.MaxValue).toLong)

  /** The rows that a scan and the conditions right above it gave, or None if the plan has the scan twice. */
  def givenRows(scan: Reported): Option[Long] = lastNode(scan).flatMap(_.metrics.get("numOutputRows")).map(_.value)

  private def lastNode(scan: Reported): Option[SparkPlan] = scan match {
    case ours: ParquetryScan =>
      val mine = nodes.filter(ScansInRun.scanBelow(_).exists(_.isVariantOf(ours)))
      val given = Some(mine.collect { case filter: FilterExec => filter }).filter(_.nonEmpty).getOrElse(mine.filter(_.children.isEmpty))
      given.headOption.filter(_ => given.length == 1)
    case _ => None
  }

  /** Whether one of the scans that were read gave the rows of a scan that was dropped. */
  def servedByAnother(scan: Reported, read: Seq[Reported]): Boolean = scan match {
    case ours: ParquetryScan => read.exists {
      case other: ParquetryScan => other.readsSame(ours)
      case _ => false
    }
    case _ => false
  }
}

object ScansInRun {
  /** The scan whose rows a node gives, or the rows of it that satisfy conditions. */
  private def scanBelow(node: SparkPlan): Option[ParquetryScan] = node match {
    case ScanNode(scan: ParquetryScan, _) => Some(scan)
    case _: FilterExec | _: ColumnarToRowTransition | _: InputAdapter | _: WholeStageCodegenExec => scanBelow(node.children.head)
    case _ => None
  }

  /** The caches that a plan reads. */
  def caches(plan: SparkPlan): Seq[InMemoryRelation] = PlanNodes(plan).collect { case cached: InMemoryTableScanExec => cached.relation }

  /** Whether adaptive execution has finished a query's plan. */
  def isFinal(query: QueryExecution): Boolean = query.executedPlan match {
    case adaptive: AdaptiveSparkPlanExec => adaptive.isFinalPlan
    case _ => false
  }
}

/** The facts about a scan as JSON. They hold no plan. */
trait ScanJson {
  /** All facts, for a report. The planner may be asked which conditions pruned something by themselves. */
  def full: JObject
  /** The facts that are known, and what a history has besides, for a scan of a table. */
  def brief: Option[(CatalogRef, JObject)]
}

/**
 * Facts about a scan; `planner/report_facts.py` has the same fields.
 *
 * @param read what became of it in the run
 * @param cache the name of the cached table that it fills
 * @param bySpark whether Spark itself read the files by its scan of files
 * @param rows that the scan gave, and how many the optimizer expected
 * @param given the rows that the scan gave
 */
private case class ScanFacts(
    scan: Reported, untranslated: JArray, joined: Seq[String], read: String, cache: Option[String], bySpark: Boolean = false,
    rows: Option[(Long, Long)] = None, given: Option[Long] = None) {
  /** Gives the facts as somebody looks at them. */
  def later(served: Boolean): ScanJson = {
    val (report, known) = (scan.reportLater, scan.report)
    val opened = if (read == "read" || read == "dropped") scan.opened else None
    val (notes, joins, name, state, spark) = (untranslated, Json.strings(joined), cache, if (served) "reused" else read, bySpark)
    val counted = rows.fold[JValue](JNull) { case (given, expected) => JArray(List(JInt(given), JInt(expected))) }
    val asked = scan match {
      case of: Scan with Asked =>
        val facts = Seq[JField]("asked" -> JArray(of.asked.toList), "columns" -> Json.strings(of.readSchema().fieldNames.toSeq),
          "given" -> given.fold[JValue](JNull)(JInt(_))) ++ of.table.identity
        Some(of.table.ref -> facts)
      case _ => None
    }
    def fields(report: JValue): List[JField] = List("report" -> report, "untranslated" -> notes, "read" -> JString(state),
      "opened" -> opened.fold[JValue](JNull)(JInt(_)), "joins" -> joins, "by_spark" -> JBool(spark), "cache" -> name.fold[JValue](JNull)(JString(_)),
      "rows" -> counted)
    new ScanJson {
      override def full: JObject = JObject(fields(report()))
      override def brief: Option[(CatalogRef, JObject)] =
        asked.map { case (catalog, more) => catalog -> JObject(List[JField]("outcome" -> JObject(fields(known))) ++ more) }
    }
  }
}
