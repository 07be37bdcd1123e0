package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.expressions.{AttributeMap, CommonExpressionRef, Expression, RuntimeReplaceable, With}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, ReplaceData}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.predicates.{GuardUntranslatablePredicates, PartitionPredicates}

/** Spark translates a DELETE's condition before those that it fails to translate are marked for a scan: they are marked here. */
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
 * Where Spark pads a char of the table, the condition of a statement is about what it makes of it, and Spark 4.3.0 looks for that
 * in vain when it pushes the condition down, and when it asks which files hold a match. There the condition pads the char itself.
 */
object PadRowConditions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case r: ReplaceData if GuardRowConditions.isOurs(r) =>
      val padded = AttributeMap(r.query.collect {
        case p @ Project(_, relation: DataSourceV2Relation) if relation.table.isInstanceOf[RowLevelOperationTable] =>
          PartitionPredicates.aliases(p).toSeq
      }.flatten)
      if (padded.isEmpty) r
      else r.copy(condition = PartitionPredicates.inlined(r.condition, padded),
        groupFilterCondition = r.groupFilterCondition.map(PartitionPredicates.inlined(_, padded)))
    case _ => plan
  }
}

/**
 * What an expression is short for, written out (`f(x) BETWEEN a AND b`, `nullif(a, b)`). Spark 4.3.0 computes the part that such have in
 * common below the statement, and does not find it when it asks which files hold a match.
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
