package org.apache.spark.sql.parquetry.buckets

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.parquetry.joingraph.{BroadcastSide, EquiJoin, JoinSide}
import org.apache.spark.sql.parquetry.predicates.BalancedChains
import org.apache.spark.sql.parquetry.rowlayout.RowLayouts

/**
 * Puts the equalities of a join into the sort order of one side's files. If the files are sorted by a, b,
 * then `l.b = r.b AND l.a = r.a` becomes `l.a = r.a AND l.b = r.b`.
 *
 * Spark sorts both sides by the join's keys in the order of its condition, and files sorted by the same
 * columns in another order count as unsorted. A broadcast join is not changed: it needs no order, and runtime
 * filters find its broadcast by the order of its keys.
 */
object OrderJoinKeysAsSorted extends Rule[LogicalPlan] with PredicateHelper {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    val layouts = new RowLayouts
    inOrder(plan, layouts)
  }

  private def inOrder(plan: LogicalPlan, layouts: RowLayouts): LogicalPlan = plan.transformUp {
    case join @ Join(_, _, _, Some(condition), _) => join match {
      case EquiJoin(left, right, _) if left.keys.length > 1 && BroadcastSide.find(join).isEmpty =>
        sorted(left, layouts).orElse(sorted(right, layouts)).fold(join) { order =>
          val parts = splitConjunctivePredicates(condition)
          val inOrder = parts.sortBy(position(_, order))
          if (inOrder == parts) join else join.copy(condition = BalancedChains.all(inOrder))
        }
      case _ => join
    }
  }

  /**
   * The keys of a side in the sort order of its files, or None if these are sorted by other columns first.
   */
  private def sorted(side: JoinSide, layouts: RowLayouts): Option[Seq[ExprId]] = {
    val keys = side.keys.collect { case key: Attribute => key }
    if (keys.length < side.keys.length) None
    else layouts.of(side.plan).map(_.order.take(keys.length).flatMap(ways => keys.find(key => ways.exists(_.semanticEquals(key)))).map(_.exprId))
      .find(order => order.distinct.length == keys.length)
  }

  private def position(part: Expression, order: Seq[ExprId]): Int = part match {
    case EqualTo(a: Attribute, b: Attribute) => order.indexWhere(id => id == a.exprId || id == b.exprId) match {
      case -1 => order.length
      case found => found
    }
    case _ => order.length
  }
}
