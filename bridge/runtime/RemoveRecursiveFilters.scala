package org.apache.spark.sql.parquetry.runtime

import org.apache.spark.sql.catalyst.expressions.{DynamicPruning, DynamicPruningSubquery, PredicateHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.parquetry.predicates.BalancedChains

/**
 * Recursions (`WITH RECURSIVE`). For each step Spark copies the plan of the recursion, with the rows of the
 * step before in place of the name, and plans the copy anew. It does not find the name within dynamic
 * filters, so the copy would be invalid (Spark 4.3.0). Dynamic filters are removed from the plan that is
 * copied; each copy gets its own, with values of the rows that its step has.
 */
object RemoveRecursiveFilters extends PredicateHelper {
  /** Spark 4.0 has no such node, so that it goes by its name. */
  def isRecursion(plan: LogicalPlan): Boolean = plan.nodeName == "UnionLoop"

  def apply(plan: LogicalPlan): LogicalPlan = if (!contains(plan)) plan else plan.transform {
    case recursion if isRecursion(recursion) => recursion.mapChildren(without)
    case filter @ Filter(condition, _) if condition.exists(_.isInstanceOf[DynamicPruningSubquery]) =>
      filter.copy(condition = RuntimePlacement.inSparks(condition)(apply))
  }

  /** The nodes of a plan that are in no recursion. */
  def outside(plan: LogicalPlan): Seq[LogicalPlan] =
    if (isRecursion(plan)) Nil else plan +: plan.children.flatMap(outside)

  private def contains(plan: LogicalPlan): Boolean = plan.exists {
    case Filter(condition, _) => condition.exists { case found: DynamicPruningSubquery => contains(found.plan); case _ => false }
    case other => isRecursion(other)
  }

  private def without(plan: LogicalPlan): LogicalPlan = plan.transform {
    case filter @ Filter(condition, child) if condition.exists(_.isInstanceOf[DynamicPruning]) =>
      BalancedChains.all(splitConjunctivePredicates(condition).filterNot(_.exists(_.isInstanceOf[DynamicPruning])))
        .fold(child)(kept => filter.copy(condition = kept))
  }
}
