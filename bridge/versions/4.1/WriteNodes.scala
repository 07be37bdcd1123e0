package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.write.{BatchWrite, WriterCommitMessage}
import org.apache.spark.sql.execution.{LogicalRDD, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.datasources.v2.{StreamWriterCommitProgress, WriteToDataSourceV2Exec}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** Nodes that show metrics of the driver; Spark 4.1 has no such trait of its own. */
object WriteNodes {
  trait SupportsCustomDriverMetrics extends SparkPlan {
    def customMetrics: Map[String, SQLMetric]
    override lazy val metrics: Map[String, SQLMetric] = customMetrics
    protected def createCustomMetrics(declared: Array[CustomMetric]): Map[String, SQLMetric] =
      declared.map(metric => metric.name() -> SQLMetrics.createV2CustomMetric(sparkContext, metric)).toMap
    protected def postDriverMetrics(values: Array[CustomTaskMetric]): Unit = {
      val changed = values.flatMap(value => metrics.get(value.name()).map { metric =>
        metric.set(value.value())
        metric
      })
      SQLMetrics.postDriverMetricUpdates(
        sparkContext, sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY), changed.toSeq)
    }
  }
}

/** A write that takes a batch's rows as a plan. */
trait TakesRows {
  def take(session: SparkSession, plan: LogicalPlan): Unit
  /** The number of rows that it has written. */
  def written: Option[Long]
}

/** Writes the rows of a batch. Spark asks a node of its base class how many rows a batch wrote. */
class StreamedRowsExec(batchWrite: BatchWrite, refreshCache: () => Unit, query: SparkPlan, writeMetrics: Seq[CustomMetric],
    write: TakesRows)
  extends WriteToDataSourceV2Exec(batchWrite, refreshCache, query, writeMetrics) {

  override def nodeName: String = "WriteStreamedRows"
  override protected def otherCopyArgs: Seq[AnyRef] = write :: Nil
  override protected def withNewChildInternal(newChild: SparkPlan): WriteToDataSourceV2Exec =
    new StreamedRowsExec(batchWrite, refreshCache, newChild, writeMetrics, write)

  override def run(): Seq[InternalRow] = {
    write.take(session, LogicalRDD(query.output, query.execute())(session))
    batchWrite.commit(Array.empty[WriterCommitMessage]) // passes the batch's number to the write
    refreshCache()
    commitProgress = write.written.map(StreamWriterCommitProgress(_))
    Nil
  }
}

object StreamedRowsExec {
  def apply(batch: BatchWrite, query: SparkPlan, metrics: Seq[CustomMetric], write: TakesRows): StreamedRowsExec =
    new StreamedRowsExec(batch, () => (), query, metrics, write)
}
