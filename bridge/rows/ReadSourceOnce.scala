package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.expressions.{Expression, PlanExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.write.RowLevelOperation
import org.apache.spark.sql.parquetry.protocol.ParquetryException

/**
 * Spark reads a statement's source twice: to search the files with matches, and for the rows. A source that
 * gives other rows the second time, such as a LIMIT, would match rows of files that are not read. Then all
 * files are rewritten, and the source is read once. The subquery of an UPDATE is read twice in any case, so
 * such an UPDATE is refused.
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

  /**
   * The first node that may give other rows in a second run. Spark itself refuses non-deterministic
   * expressions.
   */
  def fickle(plan: LogicalPlan): Option[String] = plan.collectWithSubqueries {
    case _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail => "a LIMIT"
    case _: Sample => "a sample"
  }.headOption
}
