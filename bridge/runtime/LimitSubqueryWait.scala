package org.apache.spark.sql.parquetry.runtime

import org.apache.spark.sql.catalyst.expressions.{DynamicPruningExpression, Expression}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.parquetry.joingraph.LogicalNames
import org.apache.spark.sql.parquetry.scan.ParquetryScan

/**
 * Values that something runs for alone are waited for no longer than the table's setting says. Those of a broadcast are not among them:
 * the join needs that before it reads a row of our table, and Spark has a limit of its own for it.
 */
object LimitSubqueryWait extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transform {
    case node: BatchScanExec => node.scan match {
      case scan: ParquetryScan if node.runtimeFilters.exists(limited(_, scan).isDefined) =>
        val changed = node.copy(runtimeFilters = node.runtimeFilters.map(filter => limited(filter, scan).getOrElse(filter)))
        changed.copyTagsFrom(node)
        changed
      case _ => node
    }
  }

  private def limited(filter: Expression, scan: ParquetryScan): Option[Expression] = (filter, scan.mostWait) match {
    case (DynamicPruningExpression(in: InSubqueryExec), Some(most)) if runsForItself(in.plan) =>
      Some(DynamicPruningExpression(in.withNewPlan(TimedSubquery(in.plan, most, scan, LogicalNames.of(in.child)))))
    case _ => None
  }

  private def runsForItself(plan: BaseSubqueryExec): Boolean = plan match {
    case _: SubqueryExec => true
    case reused: ReusedSubqueryExec => runsForItself(reused.child)
    case _ => false
  }
}
