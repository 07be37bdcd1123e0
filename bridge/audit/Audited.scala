package org.apache.spark.sql.parquetry.audit

import java.util.concurrent.ThreadLocalRandom

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, SortOrder, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Command, CommandResult, Filter, LogicalPlan, ReplaceData, ReturnAnswer, UnaryNode, V2WriteCommand}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.execution.command.DataWritingCommand
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.predicates.PartitionPredicates
import org.apache.spark.sql.parquetry.protocol.AuditMode
import org.apache.spark.sql.parquetry.table.{ParquetryTable, TableRelation}

/**
 * A query that is audited: what Parquetry claims about rows is checked by the rows themselves, before the
 * query returns one of them.
 *
 * == What it is ==
 *
 * Parquetry makes a query faster by claims: no row of this file matches; the minimum is 7; these ten files
 * hold the first ten rows. This node is above the whole query. When the query runs, it collects the claims of
 * the plan that ran, after adaptive execution and with the values of joins. Then it checks each:
 *
 * {{{
 * claim                                          check
 * files left out by conditions and values        no row of them satisfies the conditions            ScanAudit
 * row groups left out, rows of unopened files    the same rows as without any of this               ScanAudit
 * the first rows are in these files              no row of the others stands before the last one    ScanAudit
 * count, min, max and DISTINCT without files     the same result from all rows                      AnswerAudit
 * the whole query                                the same rows without Parquetry's rules            WholeAudit
 * where rows are: buckets and orders             each row, as it flows                              CheckRowLocations
 * }}}
 *
 * A claim that does not hold is an error, PARQUETRY_AUDIT. If all hold, the query's report says so.
 *
 * == What it is not ==
 *
 * It is no part of the query: it changes no row. It is equal to its child, so that Spark finds cached data.
 *
 * @param audit what the query's runs have checked
 */
case class Audited(child: LogicalPlan, audit: Audit) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override def maxRows: Option[Long] = child.maxRows
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doCanonicalize(): LogicalPlan = child.canonicalized
  override protected def withNewChildInternal(newChild: LogicalPlan): Audited = copy(child = newChild)
}

object Audited {
  /** The rows of a statement that changes rows, whose scans are audited if the statement is. */
  def rowsOf(query: LogicalPlan): LogicalPlan =
    if (AuditMode.isOn && StartAudit.isDrawn) Audited(query, new Audit(SparkSession.active.asInstanceOf[ClassicSession], query, isWhole = false)) else query
}

/**
 * Puts the node above a query that is audited. It runs when all tables of a query are known, and before the
 * optimizer changes the plan: so this plan can run again, without Parquetry's rules.
 */
case class StartAudit(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case rows: ReplaceData if AuditMode.isOn => withCondition(rows)
    case write: DataWritingCommand if AuditMode.isOn => write.withNewChildren(Seq(audited(write.query)))
    case write: V2WriteCommand if AuditMode.isOn && !isOurs(write.table) => write.withNewQuery(audited(write.query))
    case _: Command | _: CommandResult => plan // other commands run their queries on their own
    case _ => audited(plan)
  }

  private def audited(query: LogicalPlan): LogicalPlan = query match {
    case Audited(child, audit) if child eq audit.query => query
    case Audited(child, _) => audited(child) // cached data is computed anew, of later versions of its tables
    case _ if AuditMode.isOn && !query.isStreaming && readsOurs(query) && StartAudit.isDrawn =>
      Audited(query, new Audit(session.asInstanceOf[ClassicSession], query))
    case _ => query
  }

  private def isOurs(table: LogicalPlan): Boolean = table match {
    case TableRelation(_: ParquetryTable) => true
    case _ => false
  }

  /** Notes the condition of a statement on rows. If it drops whole files, Spark drops it. */
  private def withCondition(rows: ReplaceData): ReplaceData = rows.originalTable match {
    case relation @ TableRelation(table: ParquetryTable) if !SubqueryExpression.hasSubquery(rows.condition) =>
      rows.copy(originalTable = relation.copy(table = table.auditedBy(Seq(rows.condition))))
    case _ => rows
  }

  private def readsOurs(plan: LogicalPlan): Boolean = plan.collectWithSubqueries {
    case relation: DataSourceV2Relation if relation.table.isInstanceOf[ParquetryTable] => relation
  }.nonEmpty
}

object StartAudit {
  /** Whether a query is among the share of queries that are audited. */
  def isDrawn: Boolean = AuditMode.share >= 1 || ThreadLocalRandom.current().nextDouble() < AuditMode.share
}

/**
 * Notes the conditions right above each table, as Spark evaluates them. Later, some of them are only in the
 * scan.
 */
object NoteAuditedConditions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = if (!AuditMode.isOn) plan else plan.transform {
    case filter @ Filter(condition, relation @ TableRelation(table: ParquetryTable)) if table.audited.isEmpty && !table.isStreamed =>
      val columns = relation.output.filter(a => table.logical.fieldNames.contains(a.name)).map(_.exprId).toSet
      val evaluated = PartitionPredicates.conjuncts(condition).filter(e =>
        e.deterministic && !SubqueryExpression.hasSubquery(e) && e.references.forall(a => columns(a.exprId)) && isSparks(e))
      val noted = relation.copy(table = table.auditedBy(evaluated))
      noted.copyTagsFrom(relation)
      filter.copy(child = noted)
  }

  /** Whether Spark evaluates an expression without Python. */
  private def isSparks(e: Expression): Boolean =
    !e.exists(_.isInstanceOf[org.apache.spark.sql.catalyst.expressions.PythonFuncExpression])
}

/**
 * Plans an audited query. Spark plans some nodes in another way at the top of a plan, such as a LIMIT. Below
 * the audit's node they still count as the top.
 */
object AuditStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case ReturnAnswer(Audited(child, audit)) => Seq(AuditExec(planLater(ReturnAnswer(child)), audit))
    case Audited(child, audit) => Seq(AuditExec(planLater(child), audit))
    case _ => Nil
  }
}

/** Checks the claims of the plan below it when that has run. */
case class AuditExec(child: SparkPlan, @transient audit: Audit) extends UnaryExecNode { // nodes above it may take it to their tasks
  override def nodeName: String = "ParquetryAudit"
  override def stringArgs: Iterator[Any] = Iterator.empty
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doCanonicalize(): SparkPlan = child.canonicalized
  override protected def withNewChildInternal(newChild: SparkPlan): AuditExec = copy(child = newChild)

  override def executeCollect(): Array[InternalRow] = {
    val rows = CheckedRowsExec.unwrapped(child.executeCollect())
    audit.check(child, Checksum.of(rows.toSeq, _))
    rows
  }

  /**
   * Computes the rows once, and keeps them until the caller has taken them: a second run would count twice
   * for `observe`.
   */
  override protected def doExecute(): RDD[InternalRow] = {
    val found = CheckedRowsExec.unwrapped(child.execute())
    val rows = if (audit.isWhole) AuditedRuns.keep(found.map(_.copy())) else found
    audit.check(child, Checksum.of(rows, _))
    rows
  }
}
