package org.apache.spark.sql.parquetry.audit

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Coalesce, Expression, Literal, SubqueryExpression, TryEval}
import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.{DeleteFromTableExec, LeafV2CommandExec}
import org.apache.spark.sql.functions
import org.apache.spark.sql.parquetry.predicates.BalancedChains
import org.apache.spark.sql.parquetry.protocol.AuditMode
import org.apache.spark.sql.parquetry.scan.AuditScans
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.types.StructType

/** Audits a DELETE that drops whole partitions or files, and reads no row. */
object AuditDeletes extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan match {
    case delete: DeleteFromTableExec if AuditMode.isOn && StartAudit.isDrawn => (delete.table, delete.logicalLink) match {
      case (table: ParquetryTable, Some(of: DeleteFromTable)) if !SubqueryExpression.hasSubquery(of.condition) =>
        AuditedDeleteExec(delete, table, of, table.numbered(of.condition))
      case (table: ParquetryTable, Some(of)) => table.audited.flatMap(BalancedChains.all(_))
        .fold[SparkPlan](delete)(AuditedDeleteExec(delete, table, of, _))
      case _ => delete
    }
    case other => other
  }
}

/**
 * Compares the rows before a DELETE and after it. It must remove the rows that satisfy its condition, and no
 * others.
 */
case class AuditedDeleteExec(delete: DeleteFromTableExec, table: ParquetryTable, statement: LogicalPlan, condition: Expression)
  extends LeafV2CommandExec {
  override def output: Seq[Attribute] = Nil

  override protected def run(): Seq[InternalRow] = {
    val before = counted(table)
    val done = delete.executeCollect().toSeq
    session.catalog.refreshTable(name)
    // a DELETE of no rows makes no version; another writer's commit in between would count as its work
    for {
      (all, matching) <- before
      after <- newest if after.version().toLong <= table.version().toLong + 1
      (left, remaining) <- counted(after)
    } if (remaining > 0 || all - left != matching) throw AuditFailure.ofDelete(statement, table, condition, all - left, matching)
    done
  }

  /** The numbers of rows of a version, or None if one of its files cannot be read. */
  private def counted(version: ParquetryTable): Option[(Long, Long)] = try Some(count(version, condition)) catch {
    case UnreadableFile(reason) =>
      logWarning(s"A DELETE from ${table.name()} is not audited: $reason")
      None
  }

  private def name: String = (table.ref.name +: table.path).map(part => "`" + part.replace("`", "``") + "`").mkString(".")

  private def newest: Option[ParquetryTable] = session.table(name).queryExecution.analyzed.collectFirst {
    case relation: org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation => relation.table
  }.collect { case found: ParquetryTable => found }

  /** The number of all rows of a version, and the number of rows that satisfy a condition. */
  private def count(version: ParquetryTable, condition: Expression): (Long, Long) = {
    val names = condition.references.map(_.name).toSet
    val scan = AuditScans.whole(version, StructType(version.logical.filter(field => names(field.name))))
    val rows = ScanAudit.frame(ReadRows(session, scan, scan.listed), scan.readSchema())
    val matches = org.apache.spark.sql.classic.ExpressionUtils.column(Coalesce(Seq(TryEval(ScanAudit.bound(condition, rows)), Literal(false))))
    val found = ScanAudit.collected(rows.agg(functions.count(functions.lit(1)), functions.count_if(matches))).head
    (found.getLong(0), found.getLong(1))
  }
}
