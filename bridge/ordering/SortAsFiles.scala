package org.apache.spark.sql.parquetry.ordering

import org.apache.spark.sql.catalyst.expressions.{Ascending, Expression, SortOrder}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.joins.SortMergeJoinExec
import org.apache.spark.sql.parquetry.rowlayout.Movement
import org.apache.spark.sql.parquetry.scan.ParquetryScan

/**
 * Uses the order of files as far as it goes, where Spark sorts from the start. Spark's planner knows only two
 * cases: rows have all of the order that a node needs, or none of it.
 *
 *  - A join by a, b and c compares its keys in the order of the sides' files, such as c, a. Any order of keys
 *    gives the same rows. The files may be sorted by more columns than the join has, or by fewer.
 *  - A sort by a, b of rows that are sorted by a sorts only rows with equal a (`IncrementalSortExec`). So a
 *    join by more columns than the files are sorted by needs no sort of a whole bucket, nor does a window
 *    with an order of its own.
 *
 * The rest of a join's keys could be tested as a condition instead, and then nothing were sorted. But a join
 * by a alone compares all rows with equal a of both sides: n times m of them. The metastore does not know n
 * and m, and to sort n and m rows never costs more than to sort the whole partition.
 */
object SortAsFiles extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan =
    if (!plan.exists(isSorted)) plan
    else incremental(joinsInOrder(plan))

  /** Whether rows come from a sorted scan of ours without a shuffle. */
  private def fromOrderedScan(plan: SparkPlan): Boolean = Movement.unmoved(plan).exists(isSorted)
  private def isSorted(leaf: SparkPlan): Boolean = leaf match {
    case node: BatchScanExec => node.scan match {
      case scan: ParquetryScan => scan.buckets.exists(_.order.nonEmpty)
      case _ => false
    }
    case _ => false
  }

  private def incremental(plan: SparkPlan): SparkPlan = plan.transformUp {
    case sort @ SortExec(order, false, child, _) if fromOrderedScan(child) => shortened(order, child).getOrElse(sort)
  }

  /** Sorts rows by the rest of an order, or returns None if they have no part of it. */
  private def shortened(order: Seq[SortOrder], child: SparkPlan): Option[SparkPlan] = sortedBy(child, order) match {
    case 0 => None
    case all if all == order.length => Some(child)
    case some => Some(tagged(IncrementalSortExec(order, some, child), child))
  }

  /** How many columns of an order the rows of a plan are sorted by. */
  private def sortedBy(plan: SparkPlan, order: Seq[SortOrder]): Int = {
    val known = plan.outputOrdering
    (order.length to 1 by -1).find(n => SortOrder.orderingSatisfies(known, order.take(n))).getOrElse(0)
  }

  private def joinsInOrder(plan: SparkPlan): SparkPlan = {
    val joins = plan.collect { case join: SortMergeJoinExec => join }
    joins.foldLeft(plan) { (current, join) =>
      reordered(join).fold(current) { other =>
        val changed = current.transformDown { case node if node eq join => other }
        // a node above may rely on the order of the keys
        if (violations(changed) > violations(current)) current else changed
      }
    }
  }

  /** How many nodes get rows in another order than they need. */
  private def violations(plan: SparkPlan): Int = plan.collect { case node =>
    node.children.zip(node.requiredChildOrdering).count { case (child, order) => !SortOrder.orderingSatisfies(child.outputOrdering, order) }
  }.sum

  /** A join with its keys in the order of its sides' rows, or None if it cannot sort less. */
  private def reordered(join: SortMergeJoinExec): Option[SparkPlan] = {
    val (left, right) = (unsorted(join.left), unsorted(join.right))
    val orders = Seq(left -> join.leftKeys, right -> join.rightKeys).filter(side => fromOrderedScan(side._1)).map { case (side, keys) => positions(side, keys) }
    val all = join.leftKeys.indices
    val candidates = (all +: orders.filter(_.nonEmpty).map(order => order ++ all.diff(order))).distinct
    def cost(order: Seq[Int]): Seq[Double] = Seq(left -> join.leftKeys, right -> join.rightKeys)
      .map { case (side, keys) => costOf(side, order.map(keys)) }
    val best = candidates.minBy(cost(_).sum)
    Option.when(best != all && cost(best).sum < cost(all).sum) {
      val (leftKeys, rightKeys) = (best.map(join.leftKeys), best.map(join.rightKeys))
      val changed = join.copy(leftKeys = leftKeys, rightKeys = rightKeys)
      val sides = Seq(left, right).zip(changed.requiredChildOrdering).map { case (side, order) =>
        if (SortOrder.orderingSatisfies(side.outputOrdering, order)) side else tagged(SortExec(order, global = false, side), side)
      }
      tagged(changed.copy(left = sides.head, right = sides.last), join)
    }
  }

  private def unsorted(plan: SparkPlan): SparkPlan = plan match {
    case SortExec(_, false, child, _) => child
    case IncrementalSortExec(_, _, child) => child
    case other => other
  }

  /** The positions of the keys that the rows of a side are sorted by, in this order. */
  private def positions(side: SparkPlan, keys: Seq[Expression]): Seq[Int] = {
    def next(found: Seq[Int]): Seq[Int] =
      keys.indices.diff(found).find(i => sortedBy(side, ascending((found :+ i).map(keys))) == found.length + 1)
        .fold(found)(i => next(found :+ i))
    next(Nil)
  }
  private def ascending(keys: Seq[Expression]): Seq[SortOrder] =
    keys.map(SortOrder(_, Ascending))

  /** The cost of sorting a side: its bytes, or a tenth if only rows with equal first keys are sorted. */
  private def costOf(side: SparkPlan, keys: Seq[Expression]): Double = {
    val bytes = side.collectFirst(Function.unlift[SparkPlan, Double](_.logicalLink.map(_.stats.sizeInBytes.toDouble))).getOrElse(1.0)
    sortedBy(side, ascending(keys)) match {
      case 0 => bytes
      case some => if (some == keys.length) 0 else bytes / 10
    }
  }

  private def tagged(made: SparkPlan, of: SparkPlan): SparkPlan = {
    made.copyTagsFrom(of)
    made
  }
}
