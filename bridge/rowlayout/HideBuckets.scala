package org.apache.spark.sql.parquetry.rowlayout

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.SparkPlan

/**
 * Hides from the nodes above that rows are in buckets. Rows of a split bucket are in several tasks, so that
 * equal keys are, and a node that needs equal keys in one task gets its own shuffle.
 */
case class HideBuckets(child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(newChild: LogicalPlan): HideBuckets = copy(child = newChild)
}

/** The physical node of `HideBuckets`. */
case class HideBucketsExec(child: SparkPlan) extends RowsOfChild {
  override def outputPartitioning: Partitioning = UnknownPartitioning(child.outputPartitioning.numPartitions)
  override protected def withNewChildInternal(newChild: SparkPlan): HideBucketsExec = copy(child = newChild)
}
