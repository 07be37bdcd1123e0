package org.apache.spark.sql.parquetry.joingraph

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Scans of one table that Spark reads once, since they are in equal parts of a plan. Each part ends in an
 * exchange, and Spark reuses the exchange:
 *
 * {{{
 * Join
 * ├─ Join                       a filter of the left scan with values of `d` would make its part
 * │  ├─ Aggregate ─┐            unequal to the other one, and t is read twice
 * │  │  └─ scan t  ├ equal parts
 * │  └─ scan d     │
 * └─ Aggregate ────┘
 *    └─ scan t
 * }}}
 */
class SharedScans(plan: LogicalPlan) {
  private val subqueries = SharedScans.scalar(plan)
  private val parents = new IdentityHashMap[LogicalPlan, LogicalPlan]
  (plan +: subqueries).foreach(_.foreach(node => node.children.foreach(parents.put(_, node))))
  private val equalParts = new IdentityHashMap[LogicalPlan, LogicalPlan]
  // most plans read each table once: then no part need be compared with another
  private val equalScans = plan.collectLeaves().collect { case relation: DataSourceV2ScanRelation => relation }
    .groupBy(_.relation.table.name()).values.filter(_.length > 1).toSeq
    .flatMap(_.map(relation => relation: LogicalPlan).groupBy(_.canonicalized).values.filter(_.length > 1))
  equalScans.foreach(some => for (one <- some; other <- some if !(one eq other)) {
    val part = largestEqualPart(one, other)._1
    if (part.exists(endsInExchange) && Option(equalParts.get(one)).forall(smaller => part.exists(_ eq smaller))) equalParts.put(one, part)
  })

  /** Whether Spark reads no scan for several parts of the plan. */
  def isEmpty: Boolean = equalParts.isEmpty && subqueries.isEmpty

  /** Whether a filter with values of a join would make a scan's part of the plan unequal to all others. */
  def breaksReuse(relation: LogicalPlan, join: Join): Boolean =
    Option(equalParts.get(relation)).exists(part => !part.exists(_ eq join)) || inSubqueries(relation).nonEmpty

  /**
   * The scans of scalar subqueries that have a scan's position in equal parts, up to an exchange that both
   * can use.
   */
  def inSubqueries(relation: LogicalPlan): Seq[LogicalPlan] = subqueries.flatMap(_.collectLeaves()).filter {
    case other: DataSourceV2ScanRelation if other.canonicalized == relation.canonicalized => largestEqualPart(relation, other) match {
      case (part, like) => part.exists(endsInExchange) || exchangeOf(part).exists(exchangeOf(like).contains)
    }
    case _ => false
  }

  /** A scan, and all scans that have its position in equal parts of the plan. */
  def scansAtSamePosition(relation: LogicalPlan): Seq[LogicalPlan] = Option(equalParts.get(relation)).toSeq.flatMap(part =>
    equalScans.filter(_.exists(_ eq relation)).flatten.filter(other => (other eq relation) || (largestEqualPart(relation, other)._1 eq part)))

  /** The largest equal plans around two scans that have the same position in them. */
  private def largestEqualPart(one: LogicalPlan, other: LogicalPlan): (LogicalPlan, LogicalPlan) = (parents.get(one), parents.get(other)) match {
    case (above, beside) if above != null && beside != null && !(above eq beside) && position(above, one) == position(beside, other) &&
        above.canonicalized == beside.canonicalized => largestEqualPart(above, beside)
    case _ => (one, other)
  }
  private def position(above: LogicalPlan, child: LogicalPlan): Int = above.children.indexWhere(_ eq child)

  /**
   * How a side of a join is exchanged, or None if it is not: whether as a broadcast, and the indices of its
   * key columns.
   */
  private def exchangeOf(side: LogicalPlan): Option[(Boolean, Seq[Expression])] = parents.get(side) match {
    case join @ EquiJoin(left, right, _) =>
      val build = BroadcastSide.find(join)
      val (keys, own) = if (left.plan eq side) (left.keys, BuildLeft) else (right.keys, BuildRight)
      Option.when(build.forall(_ == own))(build.isDefined -> keys.map(_.transform {
        case column: Attribute => BoundReference(side.output.indexWhere(_.exprId == column.exprId), column.dataType, nullable = true)
      }))
    case _ => None
  }

  private def endsInExchange(plan: LogicalPlan): Boolean = plan match {
    case _: Aggregate | _: Join | _: Window | _: Sort | _: RepartitionOperation | _: Distinct => true
    case _ => false
  }
}

object SharedScans {
  /** The plans of all scalar subqueries, nested ones included. */
  def scalar(plan: LogicalPlan): Seq[LogicalPlan] = plan.collect { case node =>
    node.expressions.flatMap(_.collect { case subquery: ScalarSubquery => subquery.plan +: scalar(subquery.plan) }.flatten)
  }.flatten
}
