package org.apache.spark.sql.parquetry

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, ReplaceData}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.{LogicalRDD, SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.execution.datasources.v2.{SupportsCustomDriverMetrics, V2CommandExec}
import org.apache.spark.sql.execution.metric.SQLMetric

/**
 * Hands the rows of a statement to the planner, which writes them as those of an INSERT.
 *
 * @param child gives the rows of the table's columns, by their places, and more
 */
case class RewriteRowsExec(child: SparkPlan, places: Seq[Int], write: RowsWrite)
  extends V2CommandExec with UnaryExecNode with SupportsCustomDriverMetrics {
  override lazy val customMetrics: Map[String, SQLMetric] = createCustomMetrics(write.supportedCustomMetrics())
  override def output: Seq[Attribute] = Nil
  override def stringArgs: Iterator[Any] = Iterator(write.description())

  override protected def run(): Seq[InternalRow] = {
    // which files are read is known from here on
    val rows = LogicalRDD(child.output, child.execute())(session)
    write.replace(Dataset.ofRows(session, Project(places.map(child.output), rows)))
    postDriverMetrics(write.reportDriverMetrics())
    Cached.refresh(write.operation.table)
    Nil
  }

  override protected def withNewChildInternal(newChild: SparkPlan): RewriteRowsExec = copy(child = newChild)
}

object RowsStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case ReplaceData(_, _, query, _, projections, _, Some(write: RowsWrite)) =>
      RewriteRowsExec(planLater(query), projections.rowProjection.colOrdinals, write) :: Nil
    case _ => Nil
  }
}
