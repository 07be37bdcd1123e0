package org.apache.spark.sql.parquetry.skew

import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, JoinType}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Copies a part of a plan, with other ids for its columns: adaptive execution finds parts of a plan by their
 * identity, and rules find columns by their ids.
 */
object FreshCopy {
  /** The copy, and its columns for the columns of the original. None if a leaf cannot be copied. */
  def of(plan: LogicalPlan): Option[(LogicalPlan, AttributeMap[Attribute])] = Option.when(plan.collectLeaves().forall(copyable)) {
    val copy = plan.transformUpWithNewOutput {
      case relation: DataSourceV2ScanRelation =>
        val output = relation.output.map(_.newInstance())
        val columns = AttributeMap(relation.output.zip(output))
        def renamed[E <: Expression](e: E): E = e.transform { case a: Attribute => columns.getOrElse(a, a) }.asInstanceOf[E]
        relation.copy(output = output, keyGroupedPartitioning = relation.keyGroupedPartitioning.map(_.map(renamed(_))),
          ordering = relation.ordering.map(_.map(renamed(_)))) -> relation.output.zip(output)
      case relation: MultiInstanceRelation =>
        val original = relation.asInstanceOf[LogicalPlan]
        val other = relation.newInstance().asInstanceOf[LogicalPlan]
        other -> original.output.zip(other.output)
      case project: Project if project.projectList.exists(_.isInstanceOf[Alias]) =>
        val list = project.projectList.map(renewed)
        project.copy(projectList = list) -> pairs(project.projectList, list)
      case aggregate: Aggregate if aggregate.aggregateExpressions.exists(_.isInstanceOf[Alias]) =>
        val list = aggregate.aggregateExpressions.map(renewed)
        aggregate.copy(aggregateExpressions = list) -> pairs(aggregate.aggregateExpressions, list)
    }
    copy -> AttributeMap(plan.output.zip(copy.output))
  }

  /** A join type with other ids for the columns that the join itself makes. */
  def of(joinType: JoinType): JoinType = joinType match {
    case ExistenceJoin(exists) => ExistenceJoin(exists.newInstance().asInstanceOf[AttributeReference])
    case other => other
  }

  private def renewed(e: NamedExpression): NamedExpression = e match {
    case alias: Alias => alias.newInstance()
    case other => other
  }
  private def pairs(before: Seq[NamedExpression], after: Seq[NamedExpression]): Seq[(Attribute, Attribute)] =
    before.zip(after).collect { case (old: Alias, made) => old.toAttribute -> made.toAttribute }

  private def copyable(leaf: LogicalPlan): Boolean = leaf match {
    case _: DataSourceV2ScanRelation | _: MultiInstanceRelation | _: OneRowRelation => true
    case _ => false
  }
}
