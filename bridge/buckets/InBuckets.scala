package org.apache.spark.sql.parquetry.buckets

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan, UnaryExecNode}
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
case class InBucketsExec(layout: BucketLayout, columns: Seq[Attribute], child: SparkPlan) extends UnaryExecNode with CodegenSupport {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = new BucketPartitioning(layout, columns)
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override def supportsColumnar: Boolean = child.supportsColumnar
  override protected def doExecute(): RDD[InternalRow] = checked(child.execute())
  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = checked(child.executeColumnar())
  private def checked[T](rows: RDD[T]): RDD[T] = {
    require(rows.getNumPartitions == layout.count, s"${rows.getNumPartitions} partitions for ${layout.count} buckets")
    rows
  }

  override def supportCodegen: Boolean = !supportsColumnar
  override def inputRDDs(): Seq[RDD[InternalRow]] = child.asInstanceOf[CodegenSupport].inputRDDs().map(checked(_))
  override def usedInputs: AttributeSet = AttributeSet.empty
  override protected def doProduce(ctx: CodegenContext): String = child.asInstanceOf[CodegenSupport].produce(ctx, this)
  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = consume(ctx, input)

  override protected def withNewChildInternal(child: SparkPlan): InBucketsExec = copy(child = child)
}
