package org.apache.spark.sql.parquetry.ordering

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, RowOrdering, SortOrder, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SortExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/**
 * Sorts rows that come in the order of the first columns already. Rows that are equal in these are a group,
 * and each group is sorted by the other columns. So rows go on as they come, and the whole partition is never
 * in memory. PostgreSQL's incremental sort is the same.
 *
 * Groups of a few rows are sorted in memory. A larger one goes through Spark's sorter, which spills.
 *
 * @param sorted how many columns of `sortOrder` the rows are sorted by
 */
case class IncrementalSortExec(sortOrder: Seq[SortOrder], sorted: Int, child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputOrdering: Seq[SortOrder] = sortOrder
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq(sortOrder.take(sorted))
  override lazy val metrics: Map[String, SQLMetric] = Map(
    "groups" -> SQLMetrics.createMetric(sparkContext, "groups of several rows"),
    "large" -> SQLMetrics.createMetric(sparkContext, "groups through the external sorter"))

  protected override def doExecute(): RDD[InternalRow] = {
    val (groups, large) = (longMetric("groups"), longMetric("large"))
    val whole = SortExec(sortOrder, global = false, child)
    val (order, columns, begun) = (sortOrder, child.output, sorted)
    child.execute().mapPartitionsInternal { rows =>
      new GroupedRows(rows.asInstanceOf[Iterator[UnsafeRow]], columns.length,
        RowOrdering.create(order.take(begun), columns), RowOrdering.create(order.drop(begun), columns),
        () => whole.createSorter(), groups, large)
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): IncrementalSortExec = copy(child = newChild)
}
