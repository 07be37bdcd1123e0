package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.expressions.{CommonExpressionRef, Expression, RuntimeReplaceable, With}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ReplaceData}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.parquetry.predicates.GuardUntranslatablePredicates

/**
 * Marks the parts of a DELETE's condition that Spark fails to translate. Spark translates the condition
 * early, before `GuardUntranslatablePredicates` runs.
 */
object GuardRowConditions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case r: ReplaceData if GuardRowConditions.isOurs(r) =>
      val guarded = GuardUntranslatablePredicates.conjunctsGuarded(r.condition)
      if (guarded fastEquals r.condition) r else r.copy(condition = guarded)
    case _ => plan
  }

  def isOurs(r: ReplaceData): Boolean = r.operation.isInstanceOf[RowsOperation]
}

/**
 * Writes out expressions that are short forms (`f(x) BETWEEN a AND b`, `nullif(a, b)`). Spark 4.3.0 computes
 * the repeated part of such an expression below the statement, and does not find it when it searches the
 * files with matches.
 */
object ExpandRowConditions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case r: ReplaceData if GuardRowConditions.isOurs(r) =>
      r.copy(condition = writtenOut(r.condition), groupFilterCondition = r.groupFilterCondition.map(writtenOut))
    case _ => plan
  }

  private def writtenOut(e: Expression): Expression = e.transformUp { case short: RuntimeReplaceable => writtenOut(short.replacement) }
    .transformUp { case With(child, common) => child.transform {
      case ref: CommonExpressionRef => common.find(_.id == ref.id).fold[Expression](ref)(_.child)
    } }
}
