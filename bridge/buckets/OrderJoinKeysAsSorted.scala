package org.apache.spark.sql.parquetry.buckets

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.parquetry.joingraph.BroadcastSide

/**
 * Puts the equalities of a join into the sort order of one side's files. If the files are sorted by a, b,
 * then `l.b = r.b AND l.a = r.a` becomes `l.a = r.a AND l.b = r.b`.
 *
 * Spark sorts both sides by the join's keys in the order of its condition, and files sorted by the same
 * columns in another order count as unsorted. A broadcast join is not changed: it needs no order, and runtime
 * filters find its broadcast by the order of its keys.
 */
object OrderJoinKeysAsSorted extends Rule[LogicalPlan] with PredicateHelper {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case join @ Join(left, right, _, Some(condition), _) => join match {
      case ExtractEquiJoinKeys(_, leftKeys, rightKeys, _, _, _, _, _) if leftKeys.length > 1 && BroadcastSide.find(join).isEmpty =>
        sorted(left, leftKeys).orElse(sorted(right, rightKeys)).fold(join) { order =>
          val parts = splitConjunctivePredicates(condition)
          val inOrder = parts.sortBy(position(_, order))
          if (inOrder == parts) join else join.copy(condition = Some(inOrder.reduceLeft(And(_, _))))
        }
      case _ => join
    }
  }

  /**
   * The keys of a side in the sort order of its files, or None if these are sorted by other columns first.
   */
  private def sorted(plan: LogicalPlan, keys: Seq[Expression]): Option[Seq[ExprId]] = {
    val origins = JoinAtLargerBucketCount.origins(plan)
    val ids = keys.collect { case a: Attribute if origins.contains(a.exprId) => origins(a.exprId) -> a.exprId }.toMap
    JoinAtLargerBucketCount.scans(plan).flatMap(_.ordering).map(_.take(keys.length).collect {
      case SortOrder(a: Attribute, Ascending, NullsFirst, _) => a.exprId
    }).find(order => order.length == keys.length && order.toSet == ids.keySet).map(_.map(ids))
  }

  private def position(part: Expression, order: Seq[ExprId]): Int = part match {
    case EqualTo(a: Attribute, b: Attribute) => order.indexWhere(id => id == a.exprId || id == b.exprId) match {
      case -1 => order.length
      case found => found
    }
    case _ => order.length
  }
}
