package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.transactions.Transaction
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.write.{BatchWrite, WriterCommitMessage}
import org.apache.spark.sql.execution.{LogicalRDD, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2
import org.apache.spark.sql.execution.datasources.v2.{StreamWriterCommitProgress, WriteToDataSourceV2Exec}

/** Nodes that show metrics of the driver. */
object WriteNodes {
  type SupportsCustomDriverMetrics = v2.SupportsCustomDriverMetrics
}

/** A write that takes a batch's rows as a plan. */
trait TakesRows {
  def take(session: SparkSession, plan: LogicalPlan): Unit
  /** The number of rows that it has written. */
  def written: Option[Long]
}

/** Writes the rows of a batch. Spark asks a node of its base class how many rows a batch wrote. */
class StreamedRowsExec(batchWrite: BatchWrite, refreshCache: () => Unit, query: SparkPlan, writeMetrics: Seq[CustomMetric],
    transaction: Option[Transaction], write: TakesRows)
  extends WriteToDataSourceV2Exec(batchWrite, refreshCache, query, writeMetrics, transaction) {

  override def nodeName: String = "WriteStreamedRows"
  override protected def otherCopyArgs: Seq[AnyRef] = write :: Nil
  override protected def withNewChildInternal(newChild: SparkPlan): WriteToDataSourceV2Exec =
    new StreamedRowsExec(batchWrite, refreshCache, newChild, writeMetrics, transaction, write)

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
    new StreamedRowsExec(batch, () => (), query, metrics, None, write)
}
