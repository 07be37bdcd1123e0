package org.apache.spark.sql.parquetry.rowlayout

import org.apache.spark.sql.catalyst.plans.physical.UnspecifiedDistribution
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SortExec, SparkPlan, UnionExec}
import org.apache.spark.sql.execution.aggregate.{HashAggregateExec, ObjectHashAggregateExec}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.{ShuffledHashJoinExec, SortMergeJoinExec}
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.Bucketing

/**
 * The last look at a plan: a scan keeps a layout only if the final plan relies on it.
 *
 *  - A scan in buckets that no join, aggregate or window uses is read without them. Else it would read each
 *    bucket in a task of its own: thousands of small tasks, or a few large ones. Without buckets its files
 *    are split and packed as for other scans. `DisableUnnecessaryBucketedScan` does the same for Spark's own
 *    tables, under the same setting (`spark.sql.sources.bucketing.autoBucketedScan.enabled`). Spark turns it
 *    off for data that it caches, since later queries may use the buckets.
 *  - If buckets are used and the order of their files is not, the files are not merged: they are read in the
 *    same partitions, one after the other and by batches.
 *  - Hot buckets are read by one task each if Spark does not join them in place after all. It may shuffle or
 *    broadcast a side, by a setting or in a later plan. The rows of the other side's bucket, which each task
 *    of a split bucket gets, would then be in the join several times.
 *
 * It runs again on each plan that adaptive execution makes.
 */
object CheckLayouts extends Rule[SparkPlan] {
  /**
   * The layouts that nodes above a node rely on.
   *
   * @param buckets whether they need rows with equal keys in one partition
   * @param order whether they need rows in an order
   * @param inPlace whether a join whose hot buckets may be in several tasks has no exchange below
   */
  private case class Needs(buckets: Boolean, order: Boolean, inPlace: Boolean)

  override def apply(plan: SparkPlan): SparkPlan = {
    val keepsBuckets = !conf.autoBucketedScanEnabled
    if (keepsBuckets && !plan.exists(isSplit)) plan else visit(plan, Needs(buckets = keepsBuckets, order = keepsBuckets, inPlace = false))
  }

  private def isSplit(plan: SparkPlan): Boolean = plan match {
    case node: BatchScanExec => node.scan match {
      case scan: ParquetryScan => scan.split.exists(_.buckets.nonEmpty)
      case _ => false
    }
    case _ => false
  }

  private def visit(plan: SparkPlan, needs: Needs): SparkPlan = plan match {
    case node: BatchScanExec => node.scan match {
      case scan: ParquetryScan if !needs.buckets && scan.buckets.isDefined && !scan.readsWholeFiles =>
        withoutBuckets(node, if (isSplit(node)) scan.withoutSplit else scan)
      case scan: ParquetryScan =>
        val whole = if (!needs.inPlace && isSplit(node)) scan.withoutSplit else scan
        val unordered = !needs.order && whole.mergesFiles && !whole.readsWholeFiles
        val read = if (unordered) whole.withoutOrder else whole
        if (read eq scan) node else tagged(node.copy(scan = read, ordering = if (unordered) None else node.ordering), node)
      case _ => node
    }
    case node @ InBucketsExec(_, _, child) if !needs.buckets => insteadOf(node, inAnyPartitions(child))
    case union: ZippedUnionExec if !needs.buckets => insteadOf(union, UnionExec(union.children.map(visit(_, needs.copy(order = false)))))
    case zip @ ZipBucketsExec(_, Seq(InBucketsExec(_, _, child), _*)) if !needs.buckets => insteadOf(zip, inAnyPartitions(child))
    case other => visited(other, needs)
  }

  private def visited(node: SparkPlan, needs: Needs): SparkPlan = {
    val keeps = !conf.autoBucketedScanEnabled
    val passed = keeps || Bucketing.groups(node) || (needs.buckets && !node.isInstanceOf[Exchange])
    val inPlace = node match {
      case _: HideBucketsExec => isJoin(node.children.head)
      case _ => needs.inPlace
    }
    val required = node.requiredChildDistribution.zip(node.requiredChildOrdering)
    val children = node.children.zip(required).map { case (child, (distribution, ordering)) =>
      visit(child, Needs(passed || distribution != UnspecifiedDistribution || ordering.nonEmpty,
        keeps || ordering.nonEmpty || (needs.order && keepsOrder(node)), inPlace))
    }
    if (children.zip(node.children).forall { case (a, b) => a eq b }) node else node.withNewChildren(children)
  }

  /** Whether the rows of a node can be in the order of its children's. */
  private def keepsOrder(node: SparkPlan): Boolean = node match {
    case _: Exchange | _: SortExec | _: HashAggregateExec | _: ObjectHashAggregateExec => false
    case _ => true
  }

  /** Whether a node joins its split scans without an exchange between. */
  private def isJoin(plan: SparkPlan): Boolean = plan match {
    case _: SortMergeJoinExec | _: ShuffledHashJoinExec => !plan.exists(_.isInstanceOf[Exchange])
    case other => other.children.length == 1 && !other.isInstanceOf[Exchange] && isJoin(other.children.head)
  }

  /** The plan of a scan that is read in place, reading all of its files, split and packed. */
  private def inAnyPartitions(plan: SparkPlan): SparkPlan = plan.transform {
    case node: BatchScanExec => node.scan match {
      case scan: ParquetryScan if scan.readsInPlace => withoutBuckets(node, scan)
      case _ => node
    }
  }
  private def withoutBuckets(node: BatchScanExec, scan: ParquetryScan): SparkPlan = tagged(Bucketing.without(node, scan.withoutBuckets), node)

  private def tagged(made: SparkPlan, of: SparkPlan): SparkPlan = {
    made.copyTagsFrom(of)
    made
  }

  /**
   * A plan, as what the logical plan of its node has become. When adaptive execution has shuffled its rows,
   * it plans the rest anew. Then the shuffle has to stand for all of that logical plan. If it stood for the
   * part below a node of ours, that node would say that its rows are still in their buckets.
   */
  private def insteadOf(node: SparkPlan, plan: SparkPlan): SparkPlan = {
    node.logicalLink.foreach(plan.setLogicalLink)
    plan
  }
}
