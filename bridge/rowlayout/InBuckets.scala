package org.apache.spark.sql.parquetry.rowlayout

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{FilterExec, InputAdapter, ProjectExec, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * A scan whose partitions are its buckets, in their order, below conditions that remove rows of them
 * (`ParquetryScan.inPlace`).
 *
 * @param columns the bucket columns, in their hash order
 */
case class InBuckets(layout: BucketLayout, columns: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override def maxRows: Option[Long] = child.maxRows
  override protected def withNewChildInternal(child: LogicalPlan): InBuckets = copy(child = child)
}

/** Tells Spark that a scan's rows are in buckets, and gives these rows. */
case class InBucketsExec(layout: BucketLayout, columns: Seq[Attribute], child: SparkPlan) extends RowsOfChild {
  /** By columns of the output: Spark's UNION compares them, and a condition may have made them NOT NULL. */
  override def outputPartitioning: Partitioning =
    new BucketPartitioning(layout, columns.map(column => output.find(_.exprId == column.exprId).getOrElse(column)))
  override def simpleString(maxFields: Int): String = s"$nodeName $outputPartitioning"

  override def supportsColumnar: Boolean = child.supportsColumnar
  override protected def doExecute(): RDD[InternalRow] = checked(child.execute())
  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = checked(child.executeColumnar())
  private def checked[T](rows: RDD[T]): RDD[T] = {
    require(rows.getNumPartitions == layout.count, s"${rows.getNumPartitions} partitions for ${layout.count} buckets")
    rows
  }

  override def supportCodegen: Boolean = !supportsColumnar
  override def inputRDDs(): Seq[RDD[InternalRow]] = super.inputRDDs().map(checked(_))

  override protected def withNewChildInternal(child: SparkPlan): InBucketsExec = copy(child = child)
}

/**
 * Columns that are computed of a scan in buckets, such as a padded CHAR.
 *
 * @param columns the bucket columns, as expressions of the output of `child`
 */
case class ComputedBuckets(layout: BucketLayout, columns: Seq[Expression], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(child: LogicalPlan): ComputedBuckets = copy(child = child)
}

/**
 * Tells Spark that such rows are in the buckets of their scan: it knows no column of these in the output of a
 * projection.
 */
case class ComputedBucketsExec(layout: BucketLayout, columns: Seq[Expression], child: SparkPlan) extends RowsOfChild {
  override def outputPartitioning: Partitioning =
    if (isInBuckets(child)) new BucketPartitioning(layout, columns) else child.outputPartitioning
  private def isInBuckets(plan: SparkPlan): Boolean = plan.outputPartitioning match {
    case buckets: BucketPartitioning => buckets.layout == layout
    case _ => plan match {
      case _: ProjectExec | _: FilterExec | _: InputAdapter | _: WholeStageCodegenExec => isInBuckets(plan.children.head)
      case _ => false
    }
  }
  override protected def withNewChildInternal(child: SparkPlan): ComputedBucketsExec = copy(child = child)
}
