package org.apache.spark.sql.parquetry.write

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.connector.write.V1Write
import org.apache.spark.sql.execution.{LogicalRDD, SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, V2CommandExec}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.parquetry.table.{Cached, ParquetryTable}
import org.apache.spark.sql.parquetry.versions.{Append, Overwrite}
import org.apache.spark.sql.parquetry.versions.WriteNodes.SupportsCustomDriverMetrics

/**
 * Writes the rows of a query with `observe` in it. Spark's own node for V1 writes plans the query once more,
 * and an `Observation` never sees the metrics of that second plan. Here the query is part of the statement's
 * plan.
 */
case class ObservedWriteExec(child: SparkPlan, table: ParquetryTable, write: V1Write)
  extends V2CommandExec with UnaryExecNode with SupportsCustomDriverMetrics {
  override def output: Seq[Attribute] = Nil
  override def stringArgs: Iterator[Any] = Iterator(table.name())
  override lazy val customMetrics: Map[String, SQLMetric] = createCustomMetrics(write.supportedCustomMetrics())

  override protected def run(): Seq[InternalRow] = {
    val rows = LogicalRDD(child.output, child.execute())(session)
    write.toInsertableRelation.insert(Dataset.ofRows(session, rows), overwrite = false)
    postDriverMetrics(write.reportDriverMetrics())
    Cached.refresh(table)
    Nil
  }

  override protected def withNewChildInternal(newChild: SparkPlan): ObservedWriteExec = copy(child = newChild)
}

object ObservedWriteStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Append(r: DataSourceV2Relation, query, _, Some(write: ParquetryWrite)) => written(r, query, write)
    case Overwrite(r: DataSourceV2Relation, _, query, _, Some(write: ParquetryWrite)) => written(r, query, write)
    case _ => Nil
  }

  private def written(relation: DataSourceV2Relation, query: LogicalPlan, write: ParquetryWrite): Seq[SparkPlan] = relation.table match {
    case table: ParquetryTable if query.exists(_.isInstanceOf[CollectMetrics]) =>
      write.reads = Some(StatementReads.of(query))
      ObservedWriteExec(planLater(query), table, write) :: Nil
    case _ => Nil
  }
}
