package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Exists, Expression, PlanExpression, PredicateHelper, SubExprUtils}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.write.RowLevelOperation
import org.apache.spark.sql.parquetry.protocol.ParquetryException
import org.apache.spark.sql.parquetry.protocol.ParquetryException.isLacking

/**
 * Spark reads a statement's source twice: to search the files with matches, and for the rows. A source that
 * gives other rows the second time, such as a LIMIT, would match rows of files that are not read. Then all
 * files are rewritten, and the source is read once. The subquery of an UPDATE is read twice in any case, so
 * such an UPDATE is refused.
 *
 * A DELETE or UPDATE also rewrites all files if Spark before 4.2 cannot search files by its EXISTS.
 */
object ReadSourceOnce extends Rule[LogicalPlan] with PredicateHelper {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case r: ReplaceData if GuardRowConditions.isOurs(r) && r.groupFilterCondition.isDefined =>
      val operation = r.operation.asInstanceOf[RowsOperation]
      val isMerge = operation.command == RowLevelOperation.Command.MERGE
      val asked = if (isMerge) Seq(r.query) else subqueries(r.condition)
      asked.flatMap(fickle).headOption match {
        case Some(what) if operation.command == RowLevelOperation.Command.UPDATE => throw new ParquetryException("UNSUPPORTED",
          s"UPDATE ${operation.table.name()}: the subquery of its condition has $what, which may give other rows when it runs again, and " +
            "Spark runs it more than once. Write its rows to a table first, and name that.")
        case Some(_) => r.copy(groupFilterCondition = None)
        case None if !isMerge && isLacking("exists with computed columns") && r.groupFilterCondition.exists(failsInSearch) =>
          r.copy(groupFilterCondition = None)
        case None => r
      }
    case _ => plan
  }

  /**
   * Whether a condition has an EXISTS with a computed column that names more than one condition on the outer
   * row. Spark optimizes the search of files twice, and the second time it computes the column below a join,
   * but does not find it there.
   */
  private def failsInSearch(condition: Expression): Boolean = condition.exists {
    case exists: Exists =>
      val outer = exists.plan.collect { case f: Filter => splitConjunctivePredicates(f.condition).filter(SubExprUtils.containsOuter) }.flatten
      outer.size > 1 && exists.plan.exists {
        case p: Project => p.projectList.exists { case Alias(_: Attribute, _) => false; case other => other.isInstanceOf[Alias] }
        case _ => false
      }
    case _ => false
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
