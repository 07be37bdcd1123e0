package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases
import org.apache.spark.sql.catalyst.expressions.{AttributeMap, CommonExpressionRef, Expression, RuntimeReplaceable, With}
import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, LogicalPlan, Project, ReplaceData}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.predicates.{GuardUntranslatablePredicates, PartitionPredicates}
import org.apache.spark.sql.parquetry.table.{ParquetryTable, TableRelation}

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
 * Puts the padding of a char into a statement's condition. If Spark pads a char of the table, the condition
 * is about the padded column. Spark 4.3.0 does not find that column when it pushes the condition down, nor
 * when it searches the files with matches.
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
 * Puts the padding of a char into the condition of a DELETE. Spark 4.0 pads the chars of the table below the
 * statement, and then makes no statement on rows of it.
 */
object PadDeleteConditions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case d: DeleteFromTable => EliminateSubqueryAliases(d.table) match {
      case padding @ Project(_, table @ TableRelation(_: ParquetryTable)) =>
        val condition = PartitionPredicates.inlined(d.condition, PartitionPredicates.aliases(padding))
        // what a subquery names of the table stays, and Spark refuses the statement
        if (condition.references.subsetOf(table.outputSet)) d.copy(table = table, condition = condition) else d
      case _ => d
    }
    case _ => plan
  }
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
