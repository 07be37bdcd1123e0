package org.apache.spark.sql.parquetry.reports

import scala.collection.mutable

import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse}

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, EliminateView}
import org.apache.spark.sql.catalyst.plans.logical.{CommandResult, LogicalPlan, Project}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.rows.RewriteRowsExec
import org.apache.spark.sql.parquetry.scan.Reported

/**
 * The last queries of each session that read tables of ours, for clients that have no handle on them: of
 * JDBC, of Spark Connect, of `spark-sql`. Their reports are made when somebody asks for them.
 */
private class FinishedQueries(context: SparkContext) extends SparkListener {
  private val last = mutable.ArrayDeque.empty[FinishedQuery]

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    // Spark names the executions that an action or a statement began, and not those within them
    case end: SparkListenerSQLExecutionEnd if end.executionName.isDefined && end.executionFailure.isEmpty && end.qe != null =>
      if (FinishedQueries.reads(end.qe.optimizedPlan)) add(FinishedQuery(end.qe, end.time, end.duration / 1000000))
    case _ =>
  }

  private def add(query: FinishedQuery): Unit = synchronized {
    last.prepend(query)
    if (last.size > FinishedQueries.kept) last.removeLast()
  }

  def newest(session: ClassicSession): Seq[FinishedQuery] = {
    context.listenerBus.waitUntilEmpty(FinishedQueries.busMilliseconds)
    synchronized(last.filter(_.query.sparkSession eq session).toSeq)
  }
}

/**
 * @param at           when it ended, in milliseconds since the epoch
 * @param milliseconds that it took
 */
private case class FinishedQuery(query: QueryExecution, at: Long, milliseconds: Long) {
  def statement: String = query.logical.origin.sqlText.getOrElse(query.analyzed.simpleString(FinishedQuery.fields))
}

private object FinishedQuery {
  /** Fields of a node that stand for a query without a text. */
  val fields = 5
}

object FinishedQueries {
  /**
   * Queries of all sessions of an application: each keeps its plans, with the files of their scans, and its
   * session.
   */
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
      JObject("query" -> JLong(each.query.id), "at" -> JLong(each.at), "milliseconds" -> JLong(each.milliseconds),
        "statement" -> JString(each.statement), "report" -> parse(Reports.ofQuery(each.query, settings)))
    }.toList))

  /**
   * The report of the newest run of a query that gives the rows of this one, or else of this one, which is
   * only planned.
   */
  def reportOfRun(session: SparkSession, text: String, settings: java.util.List[String]): String = {
    val classic = session.asInstanceOf[ClassicSession]
    val wanted = classic.withActive(bare(classic.sessionState.executePlan(classic.sessionState.sqlParser.parsePlan(text)).analyzed))
    newest(session).find(each => bare(each.query.analyzed).sameResult(wanted))
      .map(each => Reports.ofQuery(each.query, settings))
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
