package org.apache.spark.sql.parquetry.reports

import org.json4s._

import org.apache.spark.sql.execution.{FileSourceScanExec, QueryExecution, SparkPlan}
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
 */
private case class ScanFacts(
    scan: Reported, untranslated: JArray, joined: Seq[String], read: String, cache: Option[String], bySpark: Boolean = false) {
  /** Gives the facts as somebody looks at them. */
  def later(served: Boolean): () => JObject = {
    val report = scan.reportLater
    val opened = if (read == "read" || read == "dropped") scan.opened else None
    val (notes, joins, name, state, spark) = (untranslated, Json.strings(joined), cache, if (served) "reused" else read, bySpark)
    () => JObject("report" -> report(), "untranslated" -> notes, "read" -> JString(state),
      "opened" -> opened.fold[JValue](JNull)(JInt(_)), "joins" -> joins, "by_spark" -> JBool(spark), "cache" -> name.fold[JValue](JNull)(JString(_)))
  }
}
