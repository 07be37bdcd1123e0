package org.apache.spark.sql.parquetry.rowlayout

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, ENSURE_REQUIREMENTS, ReusedExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.parquetry.joingraph.{BroadcastSide, EquiJoin, JoinSide}

/**
 * The way of rows through a node: whether they stay in the partitions of its inputs. This is the one place
 * that tells the nodes of logical and physical plans apart by it.
 */
sealed trait Movement

object Movement {
  /** Each row stays in its partition: the node leaves out rows, or computes columns. */
  case object Stays extends Movement
  /**
   * Rows with equal keys have to be in one partition. Spark moves them there unless they are.
   *
   * @param by what it does with them, in words
   */
  case class Gathers(keys: Seq[Expression], by: String) extends Movement
  /**
   * A join.
   *
   * @param sides with the keys of both, or None if it compares none
   * @param broadcast the side that is broadcast; else both are where rows with equal keys meet
   */
  case class Joins(joinType: JoinType, sides: Option[(JoinSide, JoinSide)], broadcast: Option[BuildSide]) extends Movement
  /** Partitions of several inputs become one, or partitions of their own. */
  case object Unites extends Movement
  /** Rows of the first input stay, and rows of the others come to their partitions. */
  case object Completes extends Movement
  /** Rows come to other partitions. */
  case class Moves(why: Lost) extends Movement

  def of(plan: LogicalPlan): Movement = plan match {
    case _: Project | _: Filter => Stays
    case sort: Sort => if (sort.global) Moves(Lost.Other("a sort of all rows")) else Stays
    case aggregate: Aggregate => Gathers(aggregate.groupingExpressions, "grouped")
    case window: Window => Gathers(window.partitionSpec, "in a window")
    case limit: WindowGroupLimit => Gathers(limit.partitionSpec, "in a window")
    case join: Join => Joins(join.joinType, EquiJoin.unapply(join).map { case (left, right, _) => left -> right }, BroadcastSide.find(join))
    case _: Union => Unites
    case other => Moves(Lost.Other(other.nodeName))
  }

  /** The same in a physical plan. Its nodes move no row on their own: exchanges do so for them. */
  def of(plan: SparkPlan): Movement = plan match {
    case shuffle: ShuffleExchangeLike => Moves(Lost.Shuffle(isAsked = shuffle.shuffleOrigin != ENSURE_REQUIREMENTS))
    case broadcast: BroadcastExchangeLike => Moves(Lost.Other(broadcast.nodeName))
    case join: BaseJoinExec => Joins(join.joinType, None, None)
    case _: UnionExec | _: ZippedUnionExec => Unites
    case _: ZipBucketsExec => Completes
    case _: BaseLimitExec => Moves(Lost.Through("LIMIT"))
    case _ => Stays
  }

  /** The leaves whose rows come to a physical node in the partitions that they are read in. */
  def unmoved(plan: SparkPlan): Seq[SparkPlan] = of(plan) match {
    case Moves(_) => Nil
    case _ => if (plan.children.isEmpty) Seq(plan) else plan.children.flatMap(unmoved)
  }

  /** The children of a physical node, or the plans that stand for them. */
  def inputs(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case adaptive: AdaptiveSparkPlanExec => Seq(adaptive.initialPlan)
    case stage: QueryStageExec => Seq(stage.plan)
    case reused: ReusedExchangeExec => Seq(reused.child)
    case other => other.children
  }
}
