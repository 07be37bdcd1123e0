package org.apache.spark.sql.parquetry.streaming

import scala.jdk.CollectionConverters._

import org.json4s._

import org.apache.spark.sql.catalyst.plans.logical.{AppendData, LogicalPlan}
import org.apache.spark.sql.catalyst.streaming.{WriteToStream, WriteToStreamStatement}
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalog}
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2._
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite
import org.apache.spark.sql.parquetry.protocol.{Bridge, Json, ParquetryException, Settings, WrittenAnswer}
import org.apache.spark.sql.parquetry.table.{Cached, ParquetryTable}
import org.apache.spark.sql.parquetry.versions.{Append, StreamedRowsExec, TakesRows}
import org.apache.spark.sql.streaming.OutputMode

/**
 * Writes the rows of each batch like the rows of an INSERT, in one commit that names the batch. Tasks have no
 * writers, since the planner arranges the rows before they are written (`StreamedRowsExec`).
 *
 * @param table the table when the query began
 */
class StreamedRows(val table: ParquetryTable, mode: String, info: LogicalWriteInfo) extends StreamingWrite with TakesRows {
  private var rows: Option[(SparkSession, LogicalPlan)] = None
  private var count = Option.empty[Long]

  override def take(session: SparkSession, plan: LogicalPlan): Unit = rows = Some((session, plan))
  override def written: Option[Long] = count

  override def commit(batch: Long, messages: Array[WriterCommitMessage]): Unit = {
    val (session, plan) = rows.get
    val options = info.options().asCaseSensitiveMap().asScala.toMap - "checkpointLocation" - "checkpointlocation"
    // columns go by name, with the casts of an INSERT; if the options say so, it adds new columns to the
    // table
    val (now, resolved) = session.sessionState.executePlan(AppendData.byName(current(session), plan, options)).analyzed match {
      case Append(r: DataSourceV2Relation, query, _, _) => (r.table.asInstanceOf[ParquetryTable], query)
      case other => throw new IllegalStateException(s"not an insert: $other")
    }
    val answer = Bridge.write(now.ref, now.inPlace(Dataset.ofRows(session, resolved)), "write", now.identity ++ Seq[JField](
      "mode" -> JString(mode),
      "predicates" -> JArray(Nil),
      "write_options" -> Json.strings(options),
      "batch" -> JObject("query" -> JString(info.queryId()), "number" -> JInt(batch), "table" -> JString(table.id())),
      Settings.field): _*)
    count = Some(answer.as[WrittenAnswer].rows)
    Cached.forget(now)
  }

  private def current(session: SparkSession): DataSourceV2Relation =
    session.sessionState.catalogManager.catalog(table.ref.name) match {
      case catalog: TableCatalog =>
        val name = Identifier.of(table.path.init.toArray, table.path.last)
        DataSourceV2Relation.create(catalog.loadTable(name), Some(catalog), Some(name))
    }

  override def abort(batch: Long, messages: Array[WriterCommitMessage]): Unit = ()
  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory =
    throw new UnsupportedOperationException(s"Rows of a stream into ${table.name()} are written by the session's own rule: ParquetryExtensions.")
  override def toString: String = s"rows into ${table.name()}"
}

object StreamedRowsStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case WriteToDataSourceV2(_, batch: MicroBatchWrite, query, metrics) => batch.writeSupport match {
      case write: StreamedRows => StreamedRowsExec(batch, planLater(query), metrics, write) :: Nil
      case _ => Nil
    }
    case _ => Nil
  }
}

/**
 * Refuses the output mode update: its rows replace earlier rows with the same key, and a table has no keys.
 */
object CheckStreamingModes extends (LogicalPlan => Unit) {
  override def apply(plan: LogicalPlan): Unit = plan match {
    case s: WriteToStreamStatement => check(s.sink, s.outputMode)
    case s: WriteToStream => check(s.sink, s.outputMode)
    case _ =>
  }
  private def check(sink: Any, mode: OutputMode): Unit = (sink, mode) match {
    case (table: ParquetryTable, InternalOutputModes.Update) => throw new ParquetryException("UNSUPPORTED",
      s"${table.name()} cannot be written into by a stream with the output mode update: it has no keys by which rows would take the place of " +
        "others. Use append or complete, or MERGE INTO the table in foreachBatch.")
    case _ =>
  }
}
