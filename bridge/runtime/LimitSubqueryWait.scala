package org.apache.spark.sql.parquetry.runtime

import org.apache.spark.sql.catalyst.expressions.{DynamicPruningExpression, Expression}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.parquetry.filescans.FilesOfValues
import org.apache.spark.sql.parquetry.joingraph.LogicalNames
import org.apache.spark.sql.parquetry.scan.ParquetryScan

/**
 * Limits the wait for a subquery that runs only for its values, to the table's setting. A broadcast is not
 * limited: the join needs it before it reads a row of our table, and Spark has a limit of its own for
 * broadcasts.
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
  }.transformAllExpressions { case found: FilesOfValues if found.shown.exists(limited(_, found.files.scan).isDefined) =>
    found.mapFilters(filter => limited(filter, found.files.scan).getOrElse(filter))
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
