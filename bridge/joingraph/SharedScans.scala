package org.apache.spark.sql.parquetry.joingraph

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Scans of a plan that Spark reads once for several places: they are in parts of the plan that are the same and end in an exchange, which
 * it uses again. A filter by what stands outside of such a part makes it another one, and the table is read once more.
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

  /** Whether a filter of a scan by what a join finds would make its part of the plan one that is there once only. */
  def broken(relation: LogicalPlan, join: Join): Boolean =
    Option(parts.get(relation)).exists(part => !part.exists(_ eq join)) || inSubqueries(relation).nonEmpty

  /** Scans of scalar subqueries that stand where a scan does in parts which are the same, up to an exchange that serves both. */
  def inSubqueries(relation: LogicalPlan): Seq[LogicalPlan] = subqueries.flatMap(_.collectLeaves()).filter {
    case other: DataSourceV2ScanRelation if other.canonicalized == relation.canonicalized => common(relation, other) match {
      case (part, like) => part.exists(exchanged) || exchanged(part, parents.get(part)).exists(exchanged(like, parents.get(like)).contains)
    }
    case _ => false
  }

  /** A scan, and those that have its place in parts which are the same. */
  def places(relation: LogicalPlan): Seq[LogicalPlan] = Option(parts.get(relation)).toSeq.flatMap(part =>
    same.filter(_.exists(_ eq relation)).flatten.filter(other => (other eq relation) || (common(relation, other)._1 eq part)))

  /** How far up the plans above two scans are the same, with the scans in the same place. */
  private def common(one: LogicalPlan, other: LogicalPlan): (LogicalPlan, LogicalPlan) = (parents.get(one), parents.get(other)) match {
    case (above, beside) if above != null && beside != null && !(above eq beside) && place(above, one) == place(beside, other) &&
        above.canonicalized == beside.canonicalized => common(above, beside)
    case _ => (one, other)
  }
  private def place(above: LogicalPlan, child: LogicalPlan): Int = above.children.indexWhere(_ eq child)

  /** How a side of a join is exchanged, if it is: whether as a broadcast, and by which of its columns, told by their places. */
  private def exchanged(side: LogicalPlan, above: LogicalPlan): Option[(Boolean, Seq[Expression])] = above match {
    case join: Join => ExtractEquiJoinKeys.unapply(join).flatMap { case (_, leftKeys, rightKeys, _, _, left, _, _) =>
      val build = BroadcastSide.find(join)
      val (keys, own) = if (left eq side) (leftKeys, BuildLeft) else (rightKeys, BuildRight)
      Option.when(build.forall(_ == own))(build.isDefined -> keys.map(_.transform {
        case column: Attribute => BoundReference(side.output.indexWhere(_.exprId == column.exprId), column.dataType, nullable = true)
      }))
    }
    case _ => None
  }

  private def exchanged(plan: LogicalPlan): Boolean = plan match {
    case _: Aggregate | _: Join | _: Window | _: Sort | _: RepartitionOperation | _: Distinct => true
    case _ => false
  }
}

object SharedScans {
  /** The plans of scalar subqueries, also of those within others. */
  def scalar(plan: LogicalPlan): Seq[LogicalPlan] = plan.collect { case node =>
    node.expressions.flatMap(_.collect { case subquery: ScalarSubquery => subquery.plan +: scalar(subquery.plan) }.flatten)
  }.flatten
}
