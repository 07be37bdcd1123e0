package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.expressions.{Expression, PlanExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.write.RowLevelOperation
import org.apache.spark.sql.parquetry.protocol.ParquetryException

/**
 * Spark asks once which files hold a match, and once more for the rows. What gives other rows the second time, such as a LIMIT, would
 * match rows of files that are not read: then all files are rewritten, and it is asked once. An UPDATE by a subquery asks twice in any case.
 */
object ReadSourceOnce extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case r: ReplaceData if GuardRowConditions.isOurs(r) && r.groupFilterCondition.isDefined =>
      val operation = r.operation.asInstanceOf[RowsOperation]
      val asked = if (operation.command == RowLevelOperation.Command.MERGE) Seq(r.query) else subqueries(r.condition)
      asked.flatMap(fickle).headOption match {
        case Some(what) if operation.command == RowLevelOperation.Command.UPDATE => throw new ParquetryException("UNSUPPORTED",
          s"UPDATE ${operation.table.name()}: the subquery of its condition has $what, which may give other rows when it runs again, and " +
            "Spark runs it more than once. Write its rows to a table first, and name that.")
        case Some(_) => r.copy(groupFilterCondition = None)
        case None => r
      }
    case _ => plan
  }

  private def subqueries(e: Expression): Seq[LogicalPlan] = e.collect { case p: PlanExpression[_] => p.plan }.collect { case l: LogicalPlan => l }

  /** (What is not deterministic by itself Spark refuses.) */
  def fickle(plan: LogicalPlan): Option[String] = plan.collectWithSubqueries {
    case _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail => "a LIMIT"
    case _: Sample => "a sample"
  }.headOption
}
