package org.apache.spark.sql.parquetry.buckets

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Statistics}
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution.SparkPlan

/**
 * Rows of one table. Some are in buckets in place, and others are shuffled to them. The plans have the same
 * columns, and each has other rows.
 *
 * @param columns the bucket columns, in their hash order
 */
case class ZipBuckets(columns: Seq[Attribute], children: Seq[LogicalPlan]) extends LogicalPlan {
  override def output: Seq[Attribute] = children.head.output
  override def stats: Statistics = Statistics(children.map(_.stats.sizeInBytes).sum,
    Option.when(children.forall(_.stats.rowCount.isDefined))(children.flatMap(_.stats.rowCount).sum))
  override protected def withNewChildrenInternal(children: IndexedSeq[LogicalPlan]): ZipBuckets = copy(children = children)
}

/** Reads partition i of each child in one task. Spark shuffles the children that are not in these buckets. */
case class ZipBucketsExec(columns: Seq[Attribute], children: Seq[SparkPlan]) extends SparkPlan {
  override def output: Seq[Attribute] = children.head.output
  override def requiredChildDistribution: Seq[Distribution] = children.map(_ => ClusteredDistribution(columns))
  override def outputPartitioning: Partitioning = children.head.outputPartitioning match {
    case buckets: BucketPartitioning => buckets
    case other => UnknownPartitioning(other.numPartitions)
  }
  override protected def doExecute(): RDD[InternalRow] =
    children.map(_.execute()).reduce((all, more) => all.zipPartitions(more)(_ ++ _))
  override protected def withNewChildrenInternal(children: IndexedSeq[SparkPlan]): ZipBucketsExec = copy(children = children)
}
