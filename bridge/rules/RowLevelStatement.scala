package org.apache.spark.sql.parquetry

import org.json4s._

import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, ResolvedTable}
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Statements on rows: the planner refuses those it does not offer, and says what to do instead. */
object RowLevelStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case u: UpdateTable => target(u.table).foreach(refuse(_, "UPDATE"))
      case m: MergeIntoTable => target(m.targetTable).foreach(refuse(_, "MERGE INTO"))
      case d: DeleteFromTable if SubqueryExpression.hasSubquery(d.condition) =>
        target(d.table).foreach(refuse(_, "DELETE FROM", "condition" -> JString(d.condition.sql)))
      case LoadData(ResolvedTable(_, _, t: ParquetryTable, _), _, _, _, _) => refuse(t, "LOAD DATA INTO")
      case _ =>
    }
    plan
  }

  private def target(plan: LogicalPlan): Option[ParquetryTable] = EliminateSubqueryAliases(plan) match {
    case DataSourceV2Relation(t: ParquetryTable, _, _, _, _, _) => Some(t)
    case _ => None
  }

  def refuse(t: ParquetryTable, statement: String, more: JField*): Unit =
    t.ref.ask("refuse", (t.identity :+ ("statement" -> JString(statement))) ++ more: _*)
}
