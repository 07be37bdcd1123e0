package org.apache.spark.sql.parquetry.buckets

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ReturnAnswer, Sort, Union}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.parquetry.rowlayout._
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * Plans the nodes of `JoinInBuckets`, and changes a whole plan before Spark plans its parts.
 */
object BucketStrategy extends SparkStrategy {
  /** Marks a plan that this strategy has changed. */
  private val changed = TreeNodeTag[Boolean]("parquetry.changed")

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case ReturnAnswer(query) if query.getTagValue(changed).isEmpty =>
      val other = sorted(withNamedFiles(OrderJoinKeysAsSorted(query)))
      if (other eq query) Nil
      else {
        other.setTagValue(changed, true)
        Seq(planLater(ReturnAnswer(other)))
      }
    case InBuckets(layout, columns, child) => Seq(InBucketsExec(layout, columns, planLater(child)))
    case StayInBuckets(child) => Seq(StayInBucketsExec(planLater(child)))
    case ComputedBuckets(layout, columns, child) => Seq(ComputedBucketsExec(layout, columns, planLater(child)))
    case ZipBuckets(columns, children) => Seq(ZipBucketsExec(columns, children.map(planLater)))
    case ZippedUnion(keys, union: Union) => Seq(ZippedUnionExec(keys, union.output, union.children.map(planLater)))
    case ZippedUnion(_, child) => Seq(planLater(child))
    case HideBuckets(child) => Seq(HideBucketsExec(planLater(child)))
    case _ => Nil
  }

  /**
   * Has scans below a sort within partitions read whole files. Spark removes the sort if the scans are sorted
   * alike, so their files must not be mixed later on (see `CheckLayouts`).
   */
  private def sorted(plan: LogicalPlan): LogicalPlan = plan.transform {
    case sort: Sort if !sort.global => sort.withNewChildren(Seq(sort.child.transform {
      case relation @ ScanRelation(_, scan: ParquetryScan, _, _, _)
          if !scan.readsWholeFiles && scan.buckets.exists(_.order.nonEmpty) =>
        relation.copy(scan = scan.withWholeFiles)
    }))
  }

  /** Has files read one after the other if the query asks for the name of the file that is being read. */
  private def withNamedFiles(plan: LogicalPlan): LogicalPlan =
    if (!plan.exists(RowLayouts.namesFiles)) plan
    else plan.transform {
      case relation @ ScanRelation(_, scan: ParquetryScan, _, _, _) if scan.mergesFiles => relation.copy(scan = scan.withSeparateFiles)
    }
}
