package org.apache.spark.sql.parquetry.splitting

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.{ShuffledHashJoinExec, SortMergeJoinExec}
import org.apache.spark.sql.parquetry.scan.ParquetryScan

/**
 * Reads split buckets as others if Spark does not join them in place after all: it shuffles or broadcasts a
 * side, by a setting or in a later plan. The rows of the other side's bucket, which each task of a split
 * bucket gets, would then be in the join several times.
 */
object DisableUnusedSplits extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan =
    if (!plan.exists(isSplit)) plan else visit(plan, inPlace = false)

  private def isSplit(plan: SparkPlan): Boolean = plan match {
    case node: BatchScanExec => node.scan match {
      case scan: ParquetryScan => scan.split.exists(_.buckets.nonEmpty)
      case _ => false
    }
    case _ => false
  }

  private def visit(plan: SparkPlan, inPlace: Boolean): SparkPlan = plan match {
    case node: BatchScanExec if !inPlace && isSplit(node) =>
      val whole = node.copy(scan = node.scan.asInstanceOf[ParquetryScan].withoutSplit)
      whole.copyTagsFrom(node)
      whole
    case other =>
      val here = other match {
        case _: HideBucketsExec => isJoin(other.children.head)
        case _ => inPlace
      }
      val children = other.children.map(visit(_, here))
      if (children.zip(other.children).forall { case (a, b) => a eq b }) other else other.withNewChildren(children)
  }

  /** Whether a node joins its split scans without an exchange between. */
  private def isJoin(plan: SparkPlan): Boolean = plan match {
    case _: SortMergeJoinExec | _: ShuffledHashJoinExec => !plan.exists(_.isInstanceOf[Exchange])
    case other => other.children.length == 1 && !other.isInstanceOf[Exchange] && isJoin(other.children.head)
  }
}
