package org.apache.spark.sql.parquetry.joingraph

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.parquetry.protocol.Bridge

/**
 * Plans that inner joins combine, and pairs of columns that are equal in each row of the result.
 *
 * An outer, semi or anti join between them contributes its preserved side. An aggregate contributes its
 * child: an attribute of both is a grouping column, and a group is in the result with all of its rows, or not
 * at all.
 *
 * @param items plans that are no inner joins themselves
 * @param beside outer, semi and anti joins with one side among the items; the other side stands apart
 */
case class JoinGraph(items: Seq[LogicalPlan], equal: Seq[(Attribute, Attribute)], beside: Seq[Join]) {
  /** The sides of `beside` that are not among the items. */
  def apart: Seq[LogicalPlan] = beside.map(JoinGraph.apart)
  /** A column, and all columns that are equal to it in each row. */
  def closure(column: Attribute): Seq[Attribute] = {
    def grown(known: Seq[Attribute]): Seq[Attribute] = {
      val more = equal.flatMap { case (a, b) => Seq(a -> b, b -> a) }
        .collect { case (a, b) if in(known, a) && !in(known, b) => b }
      if (more.isEmpty) known else grown(known :+ more.head)
    }
    grown(Seq(column))
  }
  private def and(join: Join): JoinGraph = copy(beside = beside :+ join)
  private def in(known: Seq[Attribute], a: Attribute): Boolean = known.exists(_.exprId == a.exprId)

  /**
   * Returns an item narrowed to its rows with matches in other items, in up to three ways. The first goes on:
   * the other items are narrowed by their own neighbours, and so on, which may be expensive. The second uses
   * only the item's own neighbours. The third uses only neighbours that are joined by the item's partition
   * columns. A way that is unlikely to remove rows is left out.
   *
   * @param key the column whose values are wanted. Neighbours joined by it alone are not used: they have the
   *   same values themselves
   */
  def narrowed(item: LogicalPlan, key: Attribute, without: LogicalPlan): Seq[LogicalPlan] =
    (Seq(Bridge.terms.limits.conditionJoins, 1).flatMap(narrowed(item, Some(key), items.filterNot(_ eq without), _)) ++
      narrowed(item, Some(key), items.filter(other => !(other eq without) && partitions(item, other)), 1)).distinct

  private def partitions(item: LogicalPlan, other: LogicalPlan): Boolean = equal.flatMap { case (a, b) => Seq(a -> b, b -> a) }.exists {
    case (a, b) => other.outputSet.contains(b) && item.outputSet.contains(a) && KeySource.of(a, item).exists(_.ofPartitions)
  }

  private def narrowed(item: LogicalPlan, key: Option[Attribute], among: Seq[LogicalPlan], depth: Int): Option[LogicalPlan] = {
    val others = among.filterNot(_ eq item)
    val found = others.flatMap { other =>
      val on = equal.flatMap { case (a, b) => Seq(a -> b, b -> a) }
        .filter { case (a, b) => item.outputSet.contains(a) && other.outputSet.contains(b) }
      if (on.forall { case (a, _) => key.exists(_.exprId == a.exprId) } || depth == 0) None
      else narrowed(other, None, others, depth - 1).orElse(Option.when(JoinGraph.selective(other))(other)).map(_ -> on)
    }
    Option.when(found.nonEmpty)(found.foldLeft(item) { case (plan, (other, on)) =>
      Join(plan, other, LeftSemi, on.map { case (a, b) => EqualTo(a, b): Expression }.reduceOption(And(_, _)), JoinHint.NONE)
    })
  }
}

object JoinGraph extends PredicateHelper {
  def of(plan: LogicalPlan): JoinGraph = plan match {
    case Join(left, right, _: InnerLike, condition, _) =>
      val (one, other) = (of(left), of(right))
      JoinGraph(one.items ++ other.items, one.equal ++ other.equal ++ condition.toSeq.flatMap(equalities), one.beside ++ other.beside)
    case join @ Join(left, _, LeftOuter | LeftSemi | LeftAnti, _, _) => of(left).and(join)
    case join @ Join(_, right, RightOuter, _, _) => of(right).and(join)
    case aggregate: Aggregate if joins(aggregate) && aggregate.groupingExpressions.nonEmpty => of(aggregate.child)
    case Project(list, child) if list.forall(_.deterministic) && joins(child) => of(child)
    case Filter(condition, child) if condition.deterministic && joins(child) =>
      val below = of(child)
      below.copy(equal = below.equal ++ equalities(condition))
    case other => JoinGraph(Seq(other), Nil, Nil)
  }

  private def apart(join: Join): LogicalPlan = if (join.joinType == RightOuter) join.left else join.right

  def selective(plan: LogicalPlan): Boolean = plan.exists {
    case Filter(condition, _) => isLikelySelective(condition)
    case _ => false
  }

  private def joins(plan: LogicalPlan): Boolean = plan match {
    case _: Join => true
    case _: Project | _: Filter | _: Aggregate => joins(plan.children.head)
    case _ => false
  }

  def equalities(join: Join): Seq[(Attribute, Attribute)] = join.condition.toSeq.flatMap(equalities)
  private def equalities(condition: Expression): Seq[(Attribute, Attribute)] =
    splitConjunctivePredicates(condition).collect { case EqualTo(a: Attribute, b: Attribute) => a -> b }
}

/** A join with equalities: its two sides, and the rest of its condition. */
object EquiJoin {
  def unapply(join: Join): Option[(JoinSide, JoinSide, Option[Expression])] = ExtractEquiJoinKeys.unapply(join).map {
    case (_, leftKeys, rightKeys, other, _, left, right, _) => (JoinSide(left, leftKeys), JoinSide(right, rightKeys), other)
  }
}

/** A side of a join, with its keys in the order of the other side's keys. */
case class JoinSide(plan: LogicalPlan, keys: Seq[Expression])
