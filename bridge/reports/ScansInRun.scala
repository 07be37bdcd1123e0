package org.apache.spark.sql.parquetry.reports

import org.json4s._

import org.apache.spark.sql.execution.{
  ColumnarToRowTransition, FileSourceScanExec, FilterExec, InputAdapter, QueryExecution, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.parquetry.filescans.{PlanNodes, ScanNode}
import org.apache.spark.sql.parquetry.protocol.Json
import org.apache.spark.sql.parquetry.scan.{ParquetryScan, Reported}

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
  def rows(scan: Reported): Option[(Long, Long)] = scan match {
    case ours: ParquetryScan =>
      val mine = nodes.filter(ScansInRun.scanBelow(_).exists(_.isVariantOf(ours)))
      val given = Some(mine.collect { case filter: FilterExec => filter }).filter(_.nonEmpty).getOrElse(mine.filter(_.children.isEmpty))
      for {
        node <- given.headOption.filter(_ => given.length == 1)
        rows <- node.metrics.get("numOutputRows")
        expected <- node.logicalLink.flatMap(_.stats.rowCount)
      } yield (rows.value, expected.min(Long.MaxValue).toLong)
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

/**
 * Facts about a scan; `planner/report_facts.py` has the same fields.
 *
 * @param read what became of it in the run
 * @param cache the name of the cached table that it fills
 * @param bySpark whether Spark itself read the files by its scan of files
 * @param rows that the scan gave, and how many the optimizer expected
 */
private case class ScanFacts(
    scan: Reported, untranslated: JArray, joined: Seq[String], read: String, cache: Option[String], bySpark: Boolean = false,
    rows: Option[(Long, Long)] = None) {
  /** Gives the facts as somebody looks at them. */
  def later(served: Boolean): () => JObject = {
    val report = scan.reportLater
    val opened = if (read == "read" || read == "dropped") scan.opened else None
    val (notes, joins, name, state, spark) = (untranslated, Json.strings(joined), cache, if (served) "reused" else read, bySpark)
    val counted = rows.fold[JValue](JNull) { case (given, expected) => JArray(List(JInt(given), JInt(expected))) }
    () => JObject("report" -> report(), "untranslated" -> notes, "read" -> JString(state),
      "opened" -> opened.fold[JValue](JNull)(JInt(_)), "joins" -> joins, "by_spark" -> JBool(spark), "cache" -> name.fold[JValue](JNull)(JString(_)),
      "rows" -> counted)
  }
}
