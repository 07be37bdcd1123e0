package org.apache.spark.sql.parquetry

import org.apache.spark.sql.catalyst.expressions.{And, Expression, KnownNullable, Not, Or}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, DeleteFromTable, Filter, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.V2ExpressionBuilder
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * Spark 4.3.0 fails an assertion when it translates `a AND NULL` for a data source, which is what its own optimizer
 * makes of `tiny = 300`; the same of AND, OR and NOT over a CAST. Such conditions are marked in a way that is not
 * translated: Spark evaluates them itself. Runs right before Spark pushes down.
 */
object UntranslatableConditions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = if (!readsOurs(plan)) plan else plan.transform {
    case f @ Filter(condition, child) if readsOurs(child) => f.copy(condition = conjunctsGuarded(condition))
    case d @ DeleteFromTable(table, condition) if readsOurs(table) => d.copy(condition = conjunctsGuarded(condition))
    case a: Aggregate if readsOurs(a) => a.transformExpressionsUp(mark)
    case p: Project if readsOurs(p) => p.transformExpressionsUp(mark)
  }

  private def readsOurs(plan: LogicalPlan): Boolean = plan.collectLeaves().exists {
    case r: DataSourceV2Relation => r.table.isInstanceOf[ParquetryTable]
    case _ => false
  }

  /** What stands between the topmost ANDs is translated one by one. */
  private def conjunctsGuarded(e: Expression): Expression = e match {
    case And(left, right) => And(conjunctsGuarded(left), conjunctsGuarded(right))
    case other => guarded(other)
  }

  private def guarded(e: Expression): Expression = if (fails(e)) e.transformUp(mark) else e

  private def mark: PartialFunction[Expression, Expression] = {
    case c @ (_: And | _: Or | _: Not) if fails(c) => KnownNullable(c)
  }

  private def fails(e: Expression): Boolean = Seq(true, false).exists { isPredicate =>
    try { new V2ExpressionBuilder(e, isPredicate).build(); false } catch { case _: AssertionError => true }
  }
}
