package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{NamedRelation, ResolveSchemaEvolution}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog
import org.apache.spark.sql.connector.catalog.TableCapability
import org.apache.spark.sql.connector.catalog.transactions.Transaction
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.write.{BatchWrite, Write, WriterCommitMessage}
import org.apache.spark.sql.execution.{LogicalRDD, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2
import org.apache.spark.sql.execution.datasources.v2.{StreamWriterCommitProgress, WriteToDataSourceV2Exec}

/** An append: its table, query, options and write. */
object Append {
  def unapply(found: AppendData): Some[(NamedRelation, LogicalPlan, Map[String, String], Option[Write])] =
    Some((found.table, found.query, found.writeOptions, found.write))
  def apply(table: NamedRelation, query: LogicalPlan, options: Map[String, String], byName: Boolean, evolves: Boolean): AppendData =
    AppendData(table, query, options, byName, evolves, None, None)
}

/** An overwrite of the rows that satisfy a condition: its table, condition, query, options and write. */
object Overwrite {
  def unapply(found: OverwriteByExpression): Some[(NamedRelation, Expression, LogicalPlan, Map[String, String], Option[Write])] =
    Some((found.table, found.deleteExpr, found.query, found.writeOptions, found.write))
  def apply(table: NamedRelation, condition: Expression, query: LogicalPlan, options: Map[String, String], byName: Boolean,
      evolves: Boolean): OverwriteByExpression =
    OverwriteByExpression(table, condition, query, options, byName, evolves, None, None)
}

/**
 * An overwrite of the partitions of its rows: its table, query, options, whether it goes by name and evolves,
 * and its write.
 */
object OverwritePartitions {
  def unapply(found: OverwritePartitionsDynamic): Some[(NamedRelation, LogicalPlan, Map[String, String], Boolean, Boolean, Option[Write])] =
    Some((found.table, found.query, found.writeOptions, found.isByName, found.withSchemaEvolution, found.write))
}

/** A MERGE that only inserts: its table, write, and query as it was analyzed. */
object InsertingMerge {
  def unapply(plan: LogicalPlan): Option[(LogicalPlan, Option[Write], Option[LogicalPlan])] = plan match {
    case InsertOnlyMerge(table, _, write, query) => Some((table, write, query))
    case _ => None
  }
}

/** Statements that give their table new columns. */
object Evolution {
  type SupportsSchemaEvolution = catalog.SupportsSchemaEvolution

  /** The capabilities of a table that can have new columns. */
  val capabilities: Seq[TableCapability] = Seq(TableCapability.AUTOMATIC_SCHEMA_EVOLUTION)

  /** Whether INSERT and writes of DataFrames can do so. */
  val inWrites: Boolean = true
  def isIn(write: V2WriteCommand): Boolean = write.withSchemaEvolution
  def isIn(insert: InsertIntoStatement): Boolean = insert.withSchemaEvolution
  def in(write: V2WriteCommand): LogicalPlan = write match {
    case a: AppendData => a.copy(withSchemaEvolution = true)
    case o: OverwriteByExpression => o.copy(withSchemaEvolution = true)
    case o: OverwritePartitionsDynamic => o.copy(withSchemaEvolution = true)
    case other => other
  }

  /** The class of Spark's rule that alters the table. */
  val rule: String = ResolveSchemaEvolution.getClass.getName
}

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
