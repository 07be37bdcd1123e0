package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases
import org.apache.spark.sql.catalyst.expressions.{
  Alias, Attribute, AttributeMap, CommonExpressionRef, Expression, OuterReference, RuntimeReplaceable, SubqueryExpression, With}
import org.apache.spark.sql.catalyst.plans.logical.{
  AnalysisHelper, Assignment, DeleteFromTable, LogicalPlan, MergeAction, MergeIntoTable, Project, ReplaceData, UpdateTable}
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
      else r.copy(condition = Padding.inlined(r.condition, padded),
        groupFilterCondition = r.groupFilterCondition.map(Padding.inlined(_, padded)))
    case _ => plan
  }
}

/**
 * Puts the padding of a char into the conditions of DELETE, UPDATE and MERGE. Spark 4.0 pads the chars of
 * some statements' tables below the statement, and then does not find the table.
 */
object PadTargetConditions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case d @ DeleteFromTable(Padded(table, inlined), condition) => d.copy(table, inlined(condition))
    case u @ UpdateTable(Padded(table, inlined), assignments, condition) =>
      u.copy(table, assignments.map(inlined(_).asInstanceOf[Assignment]), condition.map(inlined))
    case m: MergeIntoTable => m.targetTable match {
      case Padded(table, inlined) =>
        def ready(clauses: Seq[MergeAction]) = clauses.map(inlined(_).asInstanceOf[MergeAction])
        m.copy(targetTable = table, mergeCondition = inlined(m.mergeCondition), matchedActions = ready(m.matchedActions),
          notMatchedActions = ready(m.notMatchedActions), notMatchedBySourceActions = ready(m.notMatchedBySourceActions))
      case _ => m
    }
    case _ => plan
  }

  private object Padded {
    def unapply(target: LogicalPlan): Option[(LogicalPlan, Expression => Expression)] = EliminateSubqueryAliases(target) match {
      case padding @ Project(_, table @ TableRelation(_: ParquetryTable)) => Some((table, Padding.inlined(_, PartitionPredicates.aliases(padding))))
      case _ => None
    }
  }
}

private object Padding {
  /** A condition with padding in place of padded columns, also where subqueries name them. */
  def inlined(condition: Expression, aliases: AttributeMap[Alias]): Expression =
    PartitionPredicates.inlined(condition, aliases).transform { case subquery: SubqueryExpression =>
      subquery.withNewPlan(AnalysisHelper.allowInvokingTransformsInAnalyzer(subquery.plan.transformAllExpressions {
        case OuterReference(a) if aliases.contains(a.toAttribute) => aliases(a.toAttribute).child.transform { case of: Attribute => OuterReference(of) }
      }))
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
