package org.apache.spark.sql.parquetry.joingraph

import org.apache.spark.sql.catalyst.expressions.{AliasHelper, Attribute, AttributeMap, Expression}
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/**
 * Follows a value down a plan, one node at a time. The value is an expression of a node's columns; below the
 * node, it is an expression of the columns of an input:
 *
 * {{{
 * k        Project [a + 1 AS k]
 * a + 1      Filter [b > 0]
 * a + 1        scan [a, b]
 * }}}
 *
 * This object says where a value comes from, and nothing about rows: nodes on the way remove rows, and outer
 * joins add NULL. What may be concluded below which nodes, its callers know.
 */
object Lineage extends AliasHelper {
  /**
   * The inputs of a node that a value comes from, each with the value as an expression of its columns. A
   * UNION has several. There are none for a leaf, or if the node itself makes the value, such as a window
   * function or an aggregate function.
   */
  def below(value: Expression, node: LogicalPlan): Seq[(Expression, LogicalPlan)] =
    if (!value.references.subsetOf(node.outputSet)) Nil
    else node match {
      case union: Union => union.children.map(child => renamed(value, union.output, child.output) -> child)
      case project: Project => within(replaceAlias(value, getAliasMap(project)), project.children)
      case aggregate: Aggregate => within(replaceAlias(value, getAliasMap(aggregate)), aggregate.children)
      case eval: BaseEvalPython =>
        val functions = AttributeMap(eval.resultAttrs.zip(eval.udfs))
        within(value.transform { case a: Attribute => functions.getOrElse(a, a) }, eval.children)
      case other => within(value, other.children)
    }

  /**
   * The same for a node of a physical plan.
   *
   * @param inputs its children, or the plans that stand for them
   */
  def below(value: Expression, node: SparkPlan, inputs: Seq[SparkPlan]): Seq[(Expression, SparkPlan)] = within(node match {
    case project: ProjectExec => replaceAlias(value, getAliasMap(project.projectList))
    case aggregate: BaseAggregateExec => replaceAlias(value, getAliasMap(aggregate.groupingExpressions ++ aggregate.resultExpressions))
    case reused: ReusedExchangeExec => renamed(value, reused.output, reused.child.output)
    case cached: InMemoryTableScanExec => renamed(value, cached.relation.output, cached.relation.cachedPlan.output)
    case _ => value
  }, inputs)

  private def within[T <: QueryPlan[T]](value: Expression, inputs: Seq[T]): Seq[(Expression, T)] =
    inputs.filter(input => value.references.subsetOf(input.outputSet)).map(value -> _)

  private def renamed(value: Expression, from: Seq[Attribute], to: Seq[Attribute]): Expression = {
    val columns = AttributeMap(from.zip(to))
    value.transform { case a: Attribute => columns.getOrElse(a, a) }
  }
}
