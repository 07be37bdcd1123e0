package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.NamedRelation
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.LeftAnti
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{Table, TableCapability, TableChange}
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.write.{BatchWrite, Write, WriterCommitMessage}
import org.apache.spark.sql.execution.{LogicalRDD, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.datasources.v2.{StreamWriterCommitProgress, WriteToDataSourceV2Exec}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** An append: its table, query, options and write. */
object Append {
  def unapply(found: AppendData): Some[(NamedRelation, LogicalPlan, Map[String, String], Option[Write])] =
    Some((found.table, found.query, found.writeOptions, found.write))
  def apply(table: NamedRelation, query: LogicalPlan, options: Map[String, String], byName: Boolean, evolves: Boolean): AppendData =
    AppendData(table, query, options, byName, None, None)
}

/** An overwrite of the rows that satisfy a condition: its table, condition, query, options and write. */
object Overwrite {
  def unapply(found: OverwriteByExpression): Some[(NamedRelation, Expression, LogicalPlan, Map[String, String], Option[Write])] =
    Some((found.table, found.deleteExpr, found.query, found.writeOptions, found.write))
  def apply(table: NamedRelation, condition: Expression, query: LogicalPlan, options: Map[String, String], byName: Boolean,
      evolves: Boolean): OverwriteByExpression =
    OverwriteByExpression(table, condition, query, options, byName, None, None)
}

/**
 * An overwrite of the partitions of its rows: its table, query, options, whether it goes by name and evolves,
 * and its write.
 */
object OverwritePartitions {
  def unapply(found: OverwritePartitionsDynamic): Some[(NamedRelation, LogicalPlan, Map[String, String], Boolean, Boolean, Option[Write])] =
    Some((found.table, found.query, found.writeOptions, found.isByName, false, found.write))
}

/**
 * A MERGE that only inserts: its table, write, and query as it was analyzed. In Spark 4.1 it is an append,
 * whose query has an anti join.
 */
object InsertingMerge {
  def unapply(plan: LogicalPlan): Option[(LogicalPlan, Option[Write], Option[LogicalPlan])] = plan match {
    case AppendData(table, query, _, _, write, analyzed) if analyzed.forall(hasAntiJoin) => Some((table, write, analyzed.orElse(Some(query))))
    case _ => None
  }

  /** Asked of the analyzed query. The optimizer removes the join if it knows that the table is empty. */
  private def hasAntiJoin(query: LogicalPlan): Boolean = query.exists {
    case join: Join => join.joinType == LeftAnti
    case _ => false
  }
}

/** Statements that give their table new columns: in Spark 4.1, MERGE alone, and in Spark 4.0 none. */
object Evolution {
  trait SupportsSchemaEvolution extends Table {
    def supportsColumnChange(change: TableChange.ColumnChange): Boolean
  }

  /** The capabilities of a table that can have new columns; Spark 4.0 has no word for it. */
  val capabilities: Seq[TableCapability] = TableCapability.values.filter(_.name == "AUTOMATIC_SCHEMA_EVOLUTION").toSeq

  /** Whether INSERT and writes of DataFrames can do so. */
  val inWrites: Boolean = false
  def isIn(write: V2WriteCommand): Boolean = false
  def isIn(insert: InsertIntoStatement): Boolean = false
  def in(write: V2WriteCommand): LogicalPlan = write

  /** The class of Spark's rule that alters the table. */
  val rule: String = "org.apache.spark.sql.catalyst.analysis.ResolveMergeIntoSchemaEvolution$"
}

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
