package org.apache.spark.sql.parquetry.reports

import java.util.Locale
import java.util.concurrent.{ScheduledExecutorService, TimeUnit}

import scala.collection.mutable
import scala.util.Try
import scala.util.control.NonFatal

import org.json4s._

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, V2CreateTableAsSelectPlan}
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.execution.ui.{SparkListenerSQLExecutionEnd, SparkListenerSQLExecutionStart}
import org.apache.spark.sql.parquetry.filescans.PlanNodes
import org.apache.spark.sql.parquetry.protocol.{Bridge, CatalogRef, ExecutionOrigin, Json, StatementText}
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.util.ThreadUtils

/**
 * Hands finished queries to the planner, which writes the history of the tables that keep one. It hands over
 * some seconds of queries at a time, in a thread of its own. No query waits for this, or fails by it.
 */
private class QueryHistory(context: SparkContext) extends Logging {
  private val origins = mutable.Map.empty[Long, ExecutionOrigin]
  private val waiting = mutable.ArrayDeque.empty[EndedQuery]
  private val flushing = new Object
  private lazy val thread: ScheduledExecutorService = ThreadUtils.newDaemonSingleThreadScheduledExecutor("parquetry-history")
  @volatile private var warned = false

  // Called by the thread of the listener alone

  def began(start: SparkListenerSQLExecutionStart): Unit =
    origins(start.executionId) = ExecutionOrigin.of(context, start.details, start.jobTags)
  def ended(id: Long): Unit = origins -= id

  /** Takes a query that has run, if a history may be kept of one of its tables. */
  def offer(end: SparkListenerSQLExecutionEnd, query: FinishedQuery): Unit = try {
    val setting = Option(end.qe.sparkSession.sessionState.conf.getConfString(QueryHistory.sessionSetting, null))
    if (QueryHistory.mayBeKept(end.qe, setting)) {
      val shuffles = PlanNodes(end.qe.executedPlan).count(_.isInstanceOf[ShuffleExchangeLike])
      val text = StatementText.of(end.qe.logical)
      add(EndedQuery(query, origins.get(end.executionId), text.map(ExecutionOrigin.redacted(end.qe.sparkSession, _)), shuffles, setting))
    }
  } catch { case NonFatal(error) => warn(error) }

  private def add(query: EndedQuery): Unit = waiting.synchronized {
    if (waiting.size < QueryHistory.mostWaiting) waiting.append(query)
    else warn(new IllegalStateException("the planner does not keep up"))
    if (waiting.size == 1) thread.schedule((() => flush()): Runnable, QueryHistory.secondsBetween, TimeUnit.SECONDS)
    else if (waiting.size == QueryHistory.mostAtOnce) thread.execute(() => flush())
  }

  /** Hands over all queries that wait. */
  def flush(): Unit = flushing.synchronized {
    var some = take()
    while (some.nonEmpty) {
      if (Bridge.installed) try QueryHistory.send(some) catch { case NonFatal(error) => warn(error) }
      else warn(new IllegalStateException("the planner's process has ended"))
      some = take()
    }
  }
  private def take(): Seq[EndedQuery] = waiting.synchronized {
    val some = waiting.take(QueryHistory.mostAtOnce).toSeq
    waiting.remove(0, some.size)
    some
  }

  private def warn(error: Throwable): Unit = if (!warned) {
    warned = true
    logWarning(s"Queries are missing in the history of queries: ${error.getMessage}")
  }
}

/**
 * A query that has run.
 *
 * @param origin   how it came, if its start was seen
 * @param text     of the statement; None for a DataFrame
 * @param shuffles the exchanges of its plan
 * @param setting  the session's setting of the history
 */
private case class EndedQuery(
    query: FinishedQuery, origin: Option[ExecutionOrigin], text: Option[String], shuffles: Int, setting: Option[String]) {
  /** The query for each catalog of its tables, with their scans. */
  def byCatalog: Map[CatalogRef, JValue] = {
    val session = query.session.get
    if (session == null && !query.isGathered) Map.empty
    else {
      val facts = if (session == null || query.isGathered) query.facts(session) else session.withActive(query.facts(session))
      facts.scans.flatMap(_.brief).groupMap(_._1)(_._2).map { case (catalog, scans) =>
        catalog -> JObject("time" -> JLong(query.at), "milliseconds" -> JLong(query.milliseconds),
          "door" -> JString(origin.flatMap(_.door).getOrElse(if (text.isEmpty) "dataframe" else "sql")),
          "user" -> string(origin.flatMap(_.user)), "statement" -> string(text), "shuffles" -> JInt(shuffles),
          "settings" -> Json.strings(setting.map(QueryHistory.sessionSetting -> _).toMap),
          "scans" -> JArray(scans.toList), "joins" -> JArray(facts.joins.toList))
      }
    }
  }
  private def string(text: Option[String]): JValue = text.fold[JValue](JNull)(JString(_))
}

private object QueryHistory {
  /** As `parquetry.workload.writer`: what a process loses that is killed. */
  val secondsBetween = 2L
  val mostAtOnce = 200
  val mostWaiting = 10000
  private val setting = "pruning-history"
  val sessionSetting: String = s"parquetry.$setting"
  private val off = Set("off", "false")

  private def isOn(value: String): Boolean = !off(value.trim.toLowerCase(Locale.ROOT))

  /**
   * Whether the session keeps a history, or else a table of the query, or its catalog. The planner decides.
   */
  def mayBeKept(query: QueryExecution, ofSession: Option[String]): Boolean = ofSession match {
    case Some(value) => isOn(value)
    case None => tables(query.analyzed).exists { table =>
      Option(table.properties().get(setting)).orElse(Option(table.ref.options.get(setting))).exists(isOn)
    }
  }

  private def tables(plan: LogicalPlan): Seq[ParquetryTable] = plan match {
    case create: V2CreateTableAsSelectPlan => tables(create.query) // it is no child once it is analyzed
    case other => other.collectWithSubqueries { case relation: DataSourceV2Relation => relation.table }.collect {
      case table: ParquetryTable => table
      case RowLevelOperationTable(table: ParquetryTable, _) => table
    }
  }

  def send(queries: Seq[EndedQuery]): Unit =
    queries.flatMap(each => Try(each.byCatalog).getOrElse(Map.empty)).groupMap(_._1)(_._2).foreach { case (catalog, some) =>
      catalog.ask("record_queries", "queries" -> JArray(some.toList))
    }
}
