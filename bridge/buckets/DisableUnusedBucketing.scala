package org.apache.spark.sql.parquetry.buckets

import org.apache.spark.sql.catalyst.plans.physical.UnspecifiedDistribution
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SortExec, SparkPlan, UnionExec}
import org.apache.spark.sql.execution.aggregate.{HashAggregateExec, ObjectHashAggregateExec}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.Bucketing

/**
 * Reads a scan without its buckets if no join, aggregate or window uses them. A bucketed scan reads each
 * bucket in a task of its own: thousands of small tasks, or a few large ones. Without buckets its files are
 * split and packed as for other scans.
 *
 * `DisableUnnecessaryBucketedScan` does the same for Spark's own tables, under the same setting
 * (`spark.sql.sources.bucketing.autoBucketedScan.enabled`). Spark turns it off for data that it caches, since
 * later queries may use the buckets.
 *
 * If buckets are used and the order of their files is not, the files are not merged: they are read in the
 * same partitions, one after the other and by batches.
 */
object DisableUnusedBucketing extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan =
    if (!conf.autoBucketedScanEnabled) plan
    else visit(plan, used = false, ordered = false)

  /** The plan of a scan that is read in place, reading all of its files, split and packed. */
  private def inAnyPartitions(plan: SparkPlan): SparkPlan = plan.transform {
    case node: BatchScanExec => node.scan match {
      case scan: ParquetryScan if scan.readsInPlace =>
        val unbucketed = Bucketing.without(node, scan.withoutBuckets)
        unbucketed.copyTagsFrom(node)
        unbucketed
      case _ => node
    }
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

  private def visit(plan: SparkPlan, used: Boolean, ordered: Boolean): SparkPlan = plan match {
    case node: BatchScanExec => node.scan match {
      case scan: ParquetryScan if !used && scan.buckets.isDefined && !scan.readsWholeFiles =>
        val unbucketed = Bucketing.without(node, scan.withoutBuckets)
        unbucketed.copyTagsFrom(node)
        unbucketed
      case scan: ParquetryScan if !ordered && scan.mergesFiles && !scan.readsWholeFiles =>
        val unordered = node.copy(scan = scan.withoutOrder, ordering = None)
        unordered.copyTagsFrom(node)
        unordered
      case _ => node
    }
    case node @ InBucketsExec(_, _, child) if !used => insteadOf(node, inAnyPartitions(child))
    case union: ZippedUnionExec if !used => insteadOf(union, UnionExec(union.children.map(visit(_, used = false, ordered = false))))
    case zip @ ZipBucketsExec(_, Seq(InBucketsExec(_, _, child), _*)) if !used => insteadOf(zip, inAnyPartitions(child))
    case other =>
      val passed = Bucketing.groups(other) || (used && !other.isInstanceOf[Exchange])
      val needs = other.requiredChildDistribution.zip(other.requiredChildOrdering)
      val children = other.children.zip(needs).map { case (child, (distribution, ordering)) =>
        visit(child, passed || distribution != UnspecifiedDistribution || ordering.nonEmpty,
          ordering.nonEmpty || (ordered && keepsOrder(other)))
      }
      if (children.zip(other.children).forall { case (a, b) => a eq b }) other else other.withNewChildren(children)
  }

  /** Whether the rows of a node can be in the order of its children's. */
  private def keepsOrder(node: SparkPlan): Boolean = node match {
    case _: Exchange | _: SortExec | _: HashAggregateExec | _: ObjectHashAggregateExec => false
    case _ => true
  }
}
