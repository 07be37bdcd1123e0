package org.apache.spark.sql.parquetry.reports

import java.lang.ref.WeakReference
import java.util.{Collections, WeakHashMap}

import scala.collection.mutable
import scala.util.Try

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd, SparkListenerEvent}
import org.apache.spark.sql.catalyst.plans.logical.{Command, CommandResult, LogicalPlan, V2CreateTableAsSelectPlan}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.execution.columnar.{CachedRDDBuilder, InMemoryRelation}
import org.apache.spark.sql.execution.ui.{SparkListenerSQLExecutionEnd, SparkListenerSQLExecutionStart}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.parquetry.protocol.StatementText
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
  /** Queries within others: the rows of a write, or of a procedure. They have no report of their own. */
  private val inner = mutable.ArrayDeque.empty[FinishedQuery]
  private val nested = mutable.Set.empty[Long]
  /** The queries that have run and are still there. */
  private val ran = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap[QueryExecution, java.lang.Boolean]))
  /** The query that filled each cache: the first one that read it. */
  private val filledBy = Collections.synchronizedMap(new WeakHashMap[CachedRDDBuilder, java.lang.Long])

  private val history = new QueryHistory(context)

  /** Has the queries written into the history that still wait for it. */
  override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = history.flush()

  def handOver(): Unit = {
    context.listenerBus.waitUntilEmpty(FinishedQueries.busMilliseconds)
    history.flush()
  }

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case start: SparkListenerSQLExecutionStart if start.rootExecutionId.exists(_ != start.executionId) =>
      nested += start.executionId
    case start: SparkListenerSQLExecutionStart => history.began(start)
    case end: SparkListenerSQLExecutionEnd =>
      val isInner = nested.remove(end.executionId)
      // Spark names the executions that an action or a statement began, and most of those within them not
      if ((isInner || end.executionName.isDefined) && end.executionFailure.isEmpty && end.qe != null) {
        ran.add(end.qe)
        Try(ScansInRun.caches(end.qe.executedPlan)).foreach(_.foreach(cached => filledBy.putIfAbsent(cached.cacheBuilder, end.qe.id)))
        if (FinishedQueries.reads(end.qe)) add(isInner, end)
      }
      history.ended(end.executionId)
    case _ =>
  }

  private def add(isInner: Boolean, end: SparkListenerSQLExecutionEnd): Unit = {
    val query = FinishedQuery.of(end.qe, end.time, end.duration / 1000000, filled(end.qe))
    if (!isInner) history.offer(end, query)
    // one that is gathered later holds its plan
    if (!isInner || query.isGathered) synchronized {
      val queries = if (isInner) inner else last
      queries.prepend(query)
      if (queries.size > FinishedQueries.kept) queries.removeLast()
    }
  }

  def filled(query: QueryExecution): InMemoryRelation => Boolean = {
    val id = query.id
    cached => Option(filledBy.get(cached.cacheBuilder)).exists(_ == id)
  }

  def newest(session: ClassicSession): Seq[FinishedQuery] = {
    context.listenerBus.waitUntilEmpty(FinishedQueries.busMilliseconds)
    synchronized(last.filter(_.session.refersTo(session)).toSeq)
  }

  /** The newest run of the same scans in a session. */
  def newestRun(session: ClassicSession, scans: Seq[String]): Option[FinishedQuery] = {
    context.listenerBus.waitUntilEmpty(FinishedQueries.busMilliseconds)
    synchronized((last ++ inner).filter(each => each.session.refersTo(session) && each.scans == scans).toSeq)
      .maxByOption(each => (each.at, each.id))
  }

  def hasRun(query: QueryExecution): Boolean = ScansInRun.isFinal(query) || {
    context.listenerBus.waitUntilEmpty(FinishedQueries.busMilliseconds)
    ran.contains(query)
  }
}

/**
 * A query that has run. It keeps neither its session nor its physical plan: a plan would keep the files of
 * the query's shuffles. Only if its facts are gathered later does it keep the plan until then.
 *
 * @param at           when it ended, in milliseconds since the epoch
 * @param milliseconds its duration
 * @param scans        what its scans read, see `QueryFacts.sameScans`
 * @param isGathered   whether the facts are there, so that no plan is held for them
 * @param facts        gives the facts for its report
 */
private case class FinishedQuery(
    session: WeakReference[ClassicSession],
    id: Long,
    at: Long,
    milliseconds: Long,
    statement: String,
    scans: Seq[String],
    isGathered: Boolean,
    facts: ClassicSession => Facts)

private object FinishedQuery {
  def of(query: QueryExecution, at: Long, milliseconds: Long, filled: InMemoryRelation => Boolean): FinishedQuery = {
    val scans = if (isReplanned(query)) Nil else QueryFacts.sameScans(query)
    val gathered = facts(query, filled)
    FinishedQuery(new WeakReference(query.sparkSession), query.id, at, milliseconds, StatementText.of(query.logical).getOrElse(without(query)), scans,
      gathered.isLeft, session => gathered.fold(_(session), _(session)))
  }

  /** Words for a query without a text: a DataFrame's. */
  private def without(query: QueryExecution): String = {
    val plan = query.analyzed match {
      case create: V2CreateTableAsSelectPlan => create.query // it is no child once it is analyzed
      case other => other
    }
    val tables = plan.collectWithSubqueries { case relation: DataSourceV2Relation => relation.table.name() }.distinct
    query.logical.collectFirst { case of if of.origin.sqlText.nonEmpty => of.origin.sqlText.get.trim }
      .getOrElse(if (tables.isEmpty) "a DataFrame" else s"a DataFrame of ${tables.mkString(", ")}")
  }

  /** Whether a command plans its queries on its own: its plan shows nothing of their runs. */
  private def isReplanned(query: QueryExecution): Boolean = query.optimizedPlan match {
    case _: Command => query.executedPlan.exists(_.isInstanceOf[RewriteRowsExec]) || !new ScansInRun(query.executedPlan, _ => false).any
    case _ => false
  }

  /**
   * Gathers the facts about a query now (left), or when somebody asks if a query must be planned, or files
   * listed, for them (right).
   */
  private def facts(query: QueryExecution, filled: InMemoryRelation => Boolean): Either[ClassicSession => Facts, ClassicSession => Facts] =
    query.optimizedPlan match {
      case _: Command if isReplanned(query) =>
        val plan = query.executedPlan
        if (QueryFacts.queries(plan).isEmpty) Left(now(query, QueryFacts.ofCommand(query.sparkSession, plan)))
        else Right(QueryFacts.ofCommand(_, plan))
      case plan if plan.collectWithSubqueries {
        case cached: InMemoryRelation => cached
        case ScanRelation(_, scan: Reported, _, _, _) if !scan.isReportReady => scan
      }.nonEmpty => Right(_ => QueryFacts.of(query, "own", filled))
      case _ => Left(now(query, QueryFacts.of(query, "own", filled)))
    }

  private def now(query: QueryExecution, facts: => Facts): ClassicSession => Facts = {
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

  /** Has the queries written that have ended, before the planner's process ends. */
  def flushHistory(): Unit = synchronized(current).foreach(_._2.handOver())

  private def newest(session: ClassicSession): Seq[FinishedQuery] = synchronized(current).toSeq.flatMap(_._2.newest(session))

  /** The last queries of a session, the newest first, each with its report. */
  def reports(session: ClassicSession, count: Int, settings: java.util.List[String]): String =
    compact(JArray(newest(session).take(count).map { each =>
      JObject("query" -> JLong(each.id), "at" -> JLong(each.at), "milliseconds" -> JLong(each.milliseconds),
        "statement" -> JString(each.statement), "report" -> Reports.shown(session, session.withActive(each.facts(session).json), settings))
    }.toList))

  /** The report of a query's text: the newest run of the same scans, or else its plan. */
  def reportOfRun(session: ClassicSession, text: String, settings: java.util.List[String]): String = session.withActive {
    val query = session.sessionState.executePlan(session.sessionState.sqlParser.parsePlan(text), CommandExecutionMode.SKIP)
    compact(Reports.shown(session, factsOfRun(query).json, settings))
  }

  /** Facts about a query's own run, else the newest run of the same scans, else its plan. */
  def factsOfRun(query: QueryExecution): Facts = {
    val queries = synchronized(current).map(_._2)
    val isDone = query.optimizedPlan.isInstanceOf[CommandResult]
    if (!isDone && queries.exists(_.hasRun(query))) QueryFacts.of(query, "own", queries.get.filled(query))
    else {
      val scans = QueryFacts.sameScans(query)
      queries.filter(_ => scans.nonEmpty).flatMap(_.newestRun(query.sparkSession, scans))
        .fold(QueryFacts.of(query, if (isDone) "planned" else "none", _ => false))(_.facts(query.sparkSession).copy(run = "same"))
    }
  }

  private def reads(query: QueryExecution): Boolean = query.optimizedPlan match {
    case _: CommandResult => false // shows the result of a command, which was a query of its own
    case _: Command => query.executedPlan.exists(_.isInstanceOf[RewriteRowsExec]) ||
      QueryFacts.queries(query.executedPlan).exists(names) || new ScansInRun(query.executedPlan, _ => false).any
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
