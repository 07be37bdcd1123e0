package org.apache.spark.sql.parquetry.joingraph

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Scans that Spark reads once for several places of a plan. They are in equal parts of the plan that end in
 * an exchange, and Spark reuses the exchange. A filter with values from outside of such a part makes it
 * unequal to the others, and the table is read once more.
 */
class SharedScans(plan: LogicalPlan) {
  private val subqueries = SharedScans.scalar(plan)
  private val parents = new IdentityHashMap[LogicalPlan, LogicalPlan]
  (plan +: subqueries).foreach(_.foreach(node => node.children.foreach(parents.put(_, node))))
  private val parts = new IdentityHashMap[LogicalPlan, LogicalPlan]
  private val same = plan.collectLeaves().collect { case relation: DataSourceV2ScanRelation => relation: LogicalPlan }
    .groupBy(_.canonicalized).values.filter(_.length > 1).toSeq
  same.foreach(some => for (one <- some; other <- some if !(one eq other)) {
    val part = common(one, other)._1
    if (part.exists(exchanged) && Option(parts.get(one)).forall(known => part.exists(_ eq known))) parts.put(one, part)
  })

  /** Whether a filter with values of a join would make a scan's part of the plan unequal to all others. */
  def broken(relation: LogicalPlan, join: Join): Boolean =
    Option(parts.get(relation)).exists(part => !part.exists(_ eq join)) || inSubqueries(relation).nonEmpty

  /**
   * The scans of scalar subqueries that have a scan's position in equal parts, up to an exchange that both
   * can use.
   */
  def inSubqueries(relation: LogicalPlan): Seq[LogicalPlan] = subqueries.flatMap(_.collectLeaves()).filter {
    case other: DataSourceV2ScanRelation if other.canonicalized == relation.canonicalized => common(relation, other) match {
      case (part, like) => part.exists(exchanged) || exchanged(part, parents.get(part)).exists(exchanged(like, parents.get(like)).contains)
    }
    case _ => false
  }

  /** A scan, and all scans that have its position in equal parts of the plan. */
  def places(relation: LogicalPlan): Seq[LogicalPlan] = Option(parts.get(relation)).toSeq.flatMap(part =>
    same.filter(_.exists(_ eq relation)).flatten.filter(other => (other eq relation) || (common(relation, other)._1 eq part)))

  /** The largest equal plans around two scans that have the same position in them. */
  private def common(one: LogicalPlan, other: LogicalPlan): (LogicalPlan, LogicalPlan) = (parents.get(one), parents.get(other)) match {
    case (above, beside) if above != null && beside != null && !(above eq beside) && place(above, one) == place(beside, other) &&
        above.canonicalized == beside.canonicalized => common(above, beside)
    case _ => (one, other)
  }
  private def place(above: LogicalPlan, child: LogicalPlan): Int = above.children.indexWhere(_ eq child)

  /**
   * How a side of a join is exchanged, or None if it is not: whether as a broadcast, and the indices of its
   * key columns.
   */
  private def exchanged(side: LogicalPlan, above: LogicalPlan): Option[(Boolean, Seq[Expression])] = above match {
    case join @ EquiJoin(left, right, _) =>
      val build = BroadcastSide.find(join)
      val (keys, own) = if (left.plan eq side) (left.keys, BuildLeft) else (right.keys, BuildRight)
      Option.when(build.forall(_ == own))(build.isDefined -> keys.map(_.transform {
        case column: Attribute => BoundReference(side.output.indexWhere(_.exprId == column.exprId), column.dataType, nullable = true)
      }))
    case _ => None
  }

  private def exchanged(plan: LogicalPlan): Boolean = plan match {
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
