package org.apache.spark.sql.parquetry.rowlayout

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Statistics, UnaryNode}
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
  override def stats: Statistics = Statistics(children.map(_.stats.sizeInBytes).sum)
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

/**
 * A UNION ALL of plans whose rows are in the same buckets, for a series of Spark that mixes partitions.
 *
 * @param keys of the join above, as columns of each plan
 */
case class ZippedUnion(keys: Seq[Seq[Expression]], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(child: LogicalPlan): ZippedUnion = copy(child = child)
}

/** Reads partition i of each child in one task, as `ZipBucketsExec` does for two parts of one table. */
case class ZippedUnionExec(keys: Seq[Seq[Expression]], output: Seq[Attribute], children: Seq[SparkPlan]) extends SparkPlan {
  override def requiredChildDistribution: Seq[Distribution] = keys.map(ClusteredDistribution(_))
  /**
   * By the keys, which are columns of each child. The rows of all children are where these say that they are;
   * other columns say it of the rows of one child alone. A column of the first child has the id of the column
   * of the UNION.
   */
  override def outputPartitioning: Partitioning = {
    val first = BucketPartitioning.among(children.head.outputPartitioning)
    first.iterator.flatMap(claimed).nextOption().getOrElse(UnknownPartitioning(children.head.outputPartitioning.numPartitions))
  }

  /** The buckets of all rows, if each child's are computed from the keys as the first child's are. */
  private def claimed(first: BucketPartitioning): Option[BucketPartitioning] =
    children.zip(keys).tail.foldLeft(Option(first.forms(keys.head)).filter(_.forall(_.nonEmpty))) { case (shared, (child, own)) =>
      shared.flatMap(forms => BucketPartitioning.among(child.outputPartitioning).filter(_.layout == first.layout)
        .map(other => forms.zip(other.forms(own)).map { case (one, another) => one.filter(another.contains) })
        .find(_.forall(_.nonEmpty)))
    }.map(forms => new BucketPartitioning(first.layout, forms.map(_.head.transform { case key: BoundReference => keys.head(key.ordinal) })))

  override protected def doExecute(): RDD[InternalRow] =
    children.map(_.execute()).reduce((all, more) => all.zipPartitions(more)(_ ++ _))
  override protected def withNewChildrenInternal(children: IndexedSeq[SparkPlan]): ZippedUnionExec = copy(children = children)
}
