package org.apache.spark.sql.parquetry.reports

import java.lang.ref.WeakReference

import scala.collection.mutable
import scala.util.Try

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, EliminateView}
import org.apache.spark.sql.catalyst.plans.logical.{Command, CommandResult, LogicalPlan, Project, V2CreateTableAsSelectPlan, V2WriteCommand}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.ui.{SparkListenerSQLExecutionEnd, SparkListenerSQLExecutionStart}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.rows.RewriteRowsExec
import org.apache.spark.sql.parquetry.scan.Reported
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * The last queries of each session that read tables of ours, for clients that have no handle on them: of
 * JDBC, of Spark Connect, of `spark-sql`.
 */
private class FinishedQueries(context: SparkContext) extends SparkListener {
  private val last = mutable.ArrayDeque.empty[FinishedQuery]

  private val nested = mutable.Set.empty[Long]

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case start: SparkListenerSQLExecutionStart if start.rootExecutionId.exists(_ != start.executionId) =>
      nested += start.executionId
    // Spark names the executions that an action or a statement began, and most of those within them not
    case end: SparkListenerSQLExecutionEnd
        if !nested.remove(end.executionId) && end.executionName.isDefined && end.executionFailure.isEmpty && end.qe != null =>
      if (FinishedQueries.reads(end.qe)) add(FinishedQuery.of(end.qe, end.time, end.duration / 1000000))
    case _ =>
  }

  private def add(query: FinishedQuery): Unit = synchronized {
    last.prepend(query)
    if (last.size > FinishedQueries.kept) last.removeLast()
  }

  def newest(session: ClassicSession): Seq[FinishedQuery] = {
    context.listenerBus.waitUntilEmpty(FinishedQueries.busMilliseconds)
    synchronized(last.filter(_.session.refersTo(session)).toSeq)
  }
}

/**
 * A query that has run. It does not hold its session, nor a physical plan, which would keep the files of its
 * shuffles. Only a query whose facts are gathered later holds its plans.
 *
 * @param at           when it ended, in milliseconds since the epoch
 * @param milliseconds its duration
 * @param facts        gives the facts for its report
 */
private case class FinishedQuery(
    session: WeakReference[ClassicSession],
    id: Long,
    at: Long,
    milliseconds: Long,
    statement: String,
    analyzed: LogicalPlan,
    facts: ClassicSession => JObject)

private object FinishedQuery {
  /** Fields of a node that stand for a query without a text. */
  private val fields = 5

  def of(query: QueryExecution, at: Long, milliseconds: Long): FinishedQuery = {
    val statement = text(query.logical).getOrElse(query.analyzed.simpleString(fields))
    FinishedQuery(new WeakReference(query.sparkSession), query.id, at, milliseconds, statement, query.analyzed, facts(query))
  }

  /** The text of a statement, which Spark keeps with the table's name alone for CREATE TABLE AS. */
  private def text(plan: LogicalPlan): Option[String] = {
    val whole = plan match {
      case create: V2CreateTableAsSelectPlan => create.name.origin.sqlText
      // Spark 4.0 knows the text of an INSERT below it alone; the query of a DataFrame begins its text
      case write: V2WriteCommand => write.origin.sqlText.orElse(write.query.collectFirst {
        case of if of.origin.sqlText.nonEmpty => of.origin
      }.filter(_.startIndex.exists(_ > 0)).flatMap(_.sqlText))
      case other => other.origin.sqlText
    }
    whole.map(_.trim)
  }

  /**
   * Gathers the facts about a query now, or when somebody asks if a query must be planned, or files listed,
   * for them.
   */
  private def facts(query: QueryExecution): ClassicSession => JObject = query.optimizedPlan match {
    case _: Command =>
      val plan = query.executedPlan
      if (QueryFacts.queries(plan).isEmpty) now(query, QueryFacts.ofCommand(query.sparkSession, plan)) else QueryFacts.ofCommand(_, plan)
    case plan if plan.collectWithSubqueries {
      case cached: InMemoryRelation => cached
      case ScanRelation(_, scan: Reported, _, _, _) if !scan.isReportReady => scan
    }.nonEmpty => _ => QueryFacts.of(query)
    case _ => now(query, QueryFacts.of(query))
  }

  private def now(query: QueryExecution, facts: => JObject): ClassicSession => JObject = {
    val known = Try(query.sparkSession.withActive(facts))
    _ => known.get
  }
}

object FinishedQueries {
  /** Queries of all sessions of an application. */
  private val kept = 20
  /** Spark reports a query to its listeners some milliseconds after it returned the rows. */
  private val busMilliseconds = 5000L

  private var current = Option.empty[(SparkContext, FinishedQueries)]

  /** Keeps the queries of an application's sessions from now on. */
  def watch(context: SparkContext): Unit = synchronized {
    if (!current.exists(_._1 eq context)) {
      val queries = new FinishedQueries(context)
      context.addSparkListener(queries)
      current = Some(context -> queries)
    }
  }

  private def newest(session: ClassicSession): Seq[FinishedQuery] = synchronized(current).toSeq.flatMap(_._2.newest(session))

  /** The last queries of a session, the newest first, each with its report. */
  def reports(session: ClassicSession, count: Int, settings: java.util.List[String]): String =
    compact(JArray(newest(session).take(count).map { each =>
      JObject("query" -> JLong(each.id), "at" -> JLong(each.at), "milliseconds" -> JLong(each.milliseconds),
        "statement" -> JString(each.statement), "report" -> Reports.shown(session, session.withActive(each.facts(session)), settings))
    }.toList))

  /**
   * The report of the newest run of a query that gives the rows of this one, or else of this one, which is
   * only planned.
   */
  def reportOfRun(session: ClassicSession, text: String, settings: java.util.List[String]): String = session.withActive {
    val wanted = bare(session.sessionState.executePlan(session.sessionState.sqlParser.parsePlan(text)).analyzed)
    newest(session).find(each => bare(each.analyzed).sameResult(wanted))
      .map(each => compact(Reports.shown(session, each.facts(session), settings)))
      .getOrElse(Reports.ofSql(session, text, settings))
  }

  /** A plan without what a view puts around it. */
  private def bare(plan: LogicalPlan): LogicalPlan = EliminateSubqueryAliases(EliminateView(plan)) match {
    case Project(columns, child) if columns.map(_.exprId) == child.output.map(_.exprId) => bare(child)
    case other => other
  }

  private def reads(query: QueryExecution): Boolean = query.optimizedPlan match {
    case _: CommandResult => false // shows the result of a command, which was a query of its own
    case _: Command => query.executedPlan.exists(_.isInstanceOf[RewriteRowsExec]) || QueryFacts.queries(query.executedPlan).exists(names)
    case plan => scans(plan)
  }

  private def scans(plan: LogicalPlan): Boolean = plan.exists {
    case relation: DataSourceV2ScanRelation => relation.scan.isInstanceOf[Reported]
    case cached: InMemoryRelation => names(cached.cacheBuilder.logicalPlan)
    case other => other.subqueries.exists(scans)
  }

  /** Whether the query of a write or of a cache, which is not optimized here, names a table of ours. */
  private def names(query: LogicalPlan): Boolean = query.exists {
    case relation: DataSourceV2Relation => relation.table.isInstanceOf[ParquetryTable]
    case other => other.subqueries.exists(names)
  }
}
