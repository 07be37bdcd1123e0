package org.apache.spark.sql.parquetry.reports

import scala.collection.mutable
import scala.ref.WeakReference
import scala.util.Try

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, EliminateView}
import org.apache.spark.sql.catalyst.plans.logical.{CommandResult, LogicalPlan, Project}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{ExternalRDD, LogicalRDD, QueryExecution}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.rows.RewriteRowsExec
import org.apache.spark.sql.parquetry.scan.{ParquetryScan, Reported}

/**
 * The last queries of each session that read tables of ours, for clients that have no handle on them: of
 * JDBC, of Spark Connect, of `spark-sql`.
 */
private class FinishedQueries(context: SparkContext) extends SparkListener {
  private val last = mutable.ArrayDeque.empty[FinishedQuery]

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    // Spark names the executions that an action or a statement began, and not those within them
    case end: SparkListenerSQLExecutionEnd if end.executionName.isDefined && end.executionFailure.isEmpty && end.qe != null =>
      if (FinishedQueries.reads(end.qe.optimizedPlan)) add(FinishedQuery.of(end.qe, end.time, end.duration / 1000000))
    case _ =>
  }

  private def add(query: FinishedQuery): Unit = synchronized {
    last.prepend(query)
    if (last.size > FinishedQueries.kept) last.removeLast()
  }

  def newest(session: ClassicSession): Seq[FinishedQuery] = {
    context.listenerBus.waitUntilEmpty(FinishedQueries.busMilliseconds)
    synchronized(last.filter(_.session.get.exists(_ eq session)).toSeq)
  }
}

/**
 * A query that has run, without what Spark keeps for it as long as its plan can be reached: shuffles, and
 * broadcasts.
 *
 * @param id           Spark's number of the query's plan
 * @param at           when it ended, in milliseconds since the epoch
 * @param milliseconds that it took
 * @param facts        for the report. They are gathered now, or when somebody asks for them if the query
 *   would have to be planned again: then it is a write, whose plan has no shuffle, or reads cached data
 * @param rows         the analyzed plan, to find the run of a query
 */
private case class FinishedQuery(
    session: WeakReference[ClassicSession], id: Long, at: Long, milliseconds: Long, statement: String, facts: () => JObject,
    rows: () => Option[LogicalPlan])

private object FinishedQuery {
  /** Fields of a node that stand for a query without a text. */
  private val fields = 5

  def of(query: QueryExecution, at: Long, milliseconds: Long): FinishedQuery = FinishedQuery(
    WeakReference(query.sparkSession), query.id, at, milliseconds,
    query.logical.origin.sqlText.getOrElse(query.analyzed.simpleString(fields)), factsOf(query), rowsOf(query.analyzed))

  private def factsOf(query: QueryExecution): () => JObject =
    if (inPlans(query.optimizedPlan)) {
      val gathered = Try(Reports.ofRun(query))
      () => gathered.get
    } else () => Reports.ofRun(query)

  /**
   * Whether the facts are in a query's plans: no query has to be planned again, nor the planner to be asked.
   */
  private def inPlans(plan: LogicalPlan): Boolean = !plan.collectWithSubqueries { case node => node }.exists {
    case relation: DataSourceV2ScanRelation => relation.scan match {
      case scan: ParquetryScan => scan.isEstimated
      case _ => false
    }
    case done: CommandResult => !done.commandPhysicalPlan.exists(_.isInstanceOf[RewriteRowsExec])
    case other => other.isInstanceOf[InMemoryRelation]
  }

  /** A plan over an RDD reaches the RDD's shuffles, too, so it is not kept. */
  private def rowsOf(analyzed: LogicalPlan): () => Option[LogicalPlan] =
    if (analyzed.collectWithSubqueries { case rdd @ (_: LogicalRDD | _: ExternalRDD[_]) => rdd }.isEmpty) () => Some(analyzed)
    else WeakReference(analyzed).get _
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

  private def newest(session: SparkSession): Seq[FinishedQuery] = session match {
    case classic: ClassicSession => synchronized(current).toSeq.flatMap(_._2.newest(classic))
    case _ => Nil
  }

  /** The last queries of a session, the newest first, each with its report. */
  def reports(session: SparkSession, count: Int, settings: java.util.List[String]): String =
    compact(JArray(newest(session).take(count).map { each =>
      JObject("query" -> JLong(each.id), "at" -> JLong(each.at), "milliseconds" -> JLong(each.milliseconds),
        "statement" -> JString(each.statement), "report" -> report(session, each, settings))
    }.toList))

  private def report(session: SparkSession, query: FinishedQuery, settings: java.util.List[String]): JObject =
    Reports.withSettings(query.facts(), session.asInstanceOf[ClassicSession], settings)

  /**
   * The report of the newest run of a query that gives the rows of this one, or else of this one, which is
   * only planned.
   */
  def reportOfRun(session: SparkSession, text: String, settings: java.util.List[String]): String = {
    val classic = session.asInstanceOf[ClassicSession]
    val wanted = classic.withActive(bare(classic.sessionState.executePlan(classic.sessionState.sqlParser.parsePlan(text)).analyzed))
    newest(session).find(_.rows().exists(bare(_).sameResult(wanted)))
      .map(each => compact(report(session, each, settings)))
      .getOrElse(Reports.ofSql(session, text, settings))
  }

  /** A plan without what a view puts around it. */
  private def bare(plan: LogicalPlan): LogicalPlan = EliminateSubqueryAliases(EliminateView(plan)) match {
    case Project(columns, child) if columns.map(_.exprId) == child.output.map(_.exprId) => bare(child)
    case other => other
  }

  private def reads(plan: LogicalPlan): Boolean = plan.exists {
    case relation: DataSourceV2ScanRelation => relation.scan.isInstanceOf[Reported]
    case done: CommandResult => done.commandPhysicalPlan.exists {
      case _: RewriteRowsExec => true
      case other => other.productIterator.exists { case query: LogicalPlan => names(query); case _ => false }
    }
    case other => other.subqueries.exists(reads)
  }

  /** Whether the query of a write, which is not optimized here, names a table of ours. */
  private def names(query: LogicalPlan): Boolean = query.exists {
    case relation: DataSourceV2Relation => relation.table.isInstanceOf[ParquetryTable]
    case other => other.subqueries.exists(names)
  }
}
