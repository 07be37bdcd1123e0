package org.apache.spark.sql.parquetry.results

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.{AliasHelper, DenseRank, Descending, Expression, IntegerLiteral, NullsFirst, Rank, RowNumber, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalLimit, LogicalPlan, Project, Sort, WindowGroupLimit}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.parquetry.scan.ParquetryScan

/**
 * Tells a scan below a LIMIT the number of rows that the query needs, and their order. The planner then
 * leaves out files. Without an order, a few files suffice if they have enough rows. With an order, files that
 * are wholly after the first rows are not needed. The LIMIT and the order stay in the plan.
 *
 * Spark gives a source its LIMIT only if no condition is left above the scan. Conditions on data columns are
 * always left, so this rule looks for the LIMIT itself. With an OFFSET, Spark's own LIMIT below it has both
 * numbers together. Ranks without PARTITION BY are limits, too. A `dense_rank`, and a GROUP BY with the
 * order's first key, count distinct values in place of rows.
 */
object PruneByLimit extends Rule[LogicalPlan] with AliasHelper {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (ScanBelow.waits(plan) || !plan.containsAnyPattern(TreePattern.LIMIT, TreePattern.WINDOW_GROUP_LIMIT)) plan
    else plan.transformWithSubqueries {
      case limit @ LocalLimit(IntegerLiteral(count), child) if count > 0 => limit.withNewChildren(Seq(limited(child, count)))
      case ranks: WindowGroupLimit if ranks.partitionSpec.isEmpty && ranks.orderSpec.nonEmpty && ranks.limit > 0 =>
        ranks.rankLikeFunction match {
          case _: RowNumber | _: Rank => ranks.withNewChildren(Seq(first(ranks.child, Order(ranks.limit, ranks.orderSpec, ties = true))))
          case _: DenseRank =>
            ranks.withNewChildren(Seq(first(ranks.child, Order(ranks.limit, ranks.orderSpec.take(1), ties = true, distinct = true))))
          case _ => ranks
        }
    }

  /**
   * @param count number of rows, or of distinct values of the first key
   * @param ties whether all rows are needed that equal the last one in the first key
   */
  private case class Order(count: Int, keys: Seq[SortOrder], ties: Boolean, distinct: Boolean = false)

  /** The number of rows that a scan is needed for, if they are the first ones in an order. */
  def rowsInOrder(scan: ParquetryScan): Option[Int] = scan.needed.filter(_ => !scan.awaitsValues).map(_ \ "first").collect {
    case first: JObject if first \ "key" != JNothing && first \ "distinct" != JBool(true) => first \ "count"
  }.collect { case JInt(count) => count.toInt }

  private def limited(plan: LogicalPlan, count: Int): LogicalPlan = plan match {
    case project: Project => project.withNewChildren(Seq(limited(project.child, count)))
    case sort: Sort if sort.global && sort.order.nonEmpty =>
      val key = sort.order.head.child
      val rows = groups(sort.child, key)((child, key) =>
        first(child, Order(count, Seq(sort.order.head.withNewChildren(Seq(key)).asInstanceOf[SortOrder]), ties = true, distinct = true)))
        .getOrElse(first(sort.child, Order(count, sort.order, ties = sort.order.length > 1)))
      sort.withNewChildren(Seq(rows))
    case sort: Sort => sort
    case other => needing(other, Nil)(_ => JObject("count" -> JInt(count)))
  }

  /**
   * Changes the rows of aggregates whose groups all have one value of a sort key: groups of the first values
   * are the first groups. Returns None if there is no aggregate.
   */
  private def groups(plan: LogicalPlan, key: Expression)(change: (LogicalPlan, Expression) => LogicalPlan): Option[LogicalPlan] = plan match {
    case project: Project =>
      groups(project.child, replaceAlias(key, getAliasMap(project)))(change).map(child => project.withNewChildren(Seq(child)))
    case aggregate: Aggregate =>
      val grouped = replaceAlias(key, getAliasMap(aggregate))
      if (!aggregate.groupingExpressions.exists(_.semanticEquals(grouped))) Some(aggregate)
      else Some(aggregate.withNewChildren(Seq(groups(aggregate.child, grouped)(change).getOrElse(change(aggregate.child, grouped)))))
    case _ => None
  }

  private def first(plan: LogicalPlan, order: Order): LogicalPlan = needing(plan, Seq(order.keys.head.child), order.keys.headOption) { below =>
    val key = order.keys.head
    JObject("count" -> JInt(order.count), "ties" -> JBool(order.ties), "distinct" -> JBool(order.distinct),
      "key" -> below.key(below.expressions.head, key.direction == Descending, key.nullOrdering == NullsFirst))
  }

  /** @param order of the rows, whose expression is the only one of `expressions` */
  private def needing(plan: LogicalPlan, expressions: Seq[Expression], order: Option[SortOrder] = None)(rows: ScanBelow => JObject): LogicalPlan =
    ScanBelow.replaced(plan, expressions) { below =>
      if (!below.isChangeable || below.scan.files < 2) below.relation
      else below.reading(JObject("first" -> JObject(rows(below).obj :+ ("hindrance" -> below.hindrance: JField))),
        order.map(_.copy(child = below.expressions.head, sameOrderExpressions = Nil)))
    }
}
