package org.apache.spark.sql.parquetry.results

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.{Descending, Expression, IntegerLiteral, NullsFirst, Rank, RowNumber, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{LocalLimit, LogicalPlan, Project, Sort, WindowGroupLimit}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.parquetry.predicates.EvaluatedPartitionPredicates
import org.apache.spark.sql.parquetry.protocol.CharPadding
import org.apache.spark.sql.parquetry.scan.ParquetryScan

/**
 * Tells a scan below a LIMIT the number of rows that the query needs, and their order. The planner then
 * leaves out files. Without an order, a few files suffice if they have enough rows. With an order, files that
 * are wholly after the first rows are not needed. The LIMIT and the order stay in the plan.
 *
 * Spark gives a source its LIMIT only if no condition is left above the scan. Conditions on data columns are
 * always left, so this rule looks for the LIMIT itself. With an OFFSET, Spark's own LIMIT below it has both
 * numbers together. Ranks without PARTITION BY are limits, too.
 */
object PruneByLimit extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (ScanBelow.waits(plan) || !plan.containsAnyPattern(TreePattern.LIMIT, TreePattern.WINDOW_GROUP_LIMIT)) plan
    else plan.transformWithSubqueries {
      case limit @ LocalLimit(IntegerLiteral(count), child) if count > 0 => limit.withNewChildren(Seq(limited(child, count)))
      case ranks: WindowGroupLimit if ranks.partitionSpec.isEmpty && ranks.orderSpec.nonEmpty && ranks.limit > 0 =>
        ranks.rankLikeFunction match {
          case _: RowNumber | _: Rank => ranks.withNewChildren(Seq(first(ranks.child, ranks.limit, ranks.orderSpec, ties = true)))
          case _ => ranks
        }
    }

  /** The number of rows that a scan is needed for, if they are the first ones in an order. */
  def rowsInOrder(scan: ParquetryScan): Option[Int] = scan.needed.filter(_ => !scan.awaitsValues).map(_ \ "first").collect {
    case first: JObject if first \ "key" != JNothing => first \ "count"
  }.collect { case JInt(count) => count.toInt }

  private def limited(plan: LogicalPlan, count: Int): LogicalPlan = plan match {
    case project: Project => project.withNewChildren(Seq(limited(project.child, count)))
    case sort: Sort if sort.global && sort.order.nonEmpty =>
      sort.withNewChildren(Seq(first(sort.child, count, sort.order, ties = sort.order.length > 1)))
    case sort: Sort => sort
    case other => needing(other, Nil)(_ => JObject("count" -> JInt(count)))
  }

  private def first(plan: LogicalPlan, count: Int, order: Seq[SortOrder], ties: Boolean): LogicalPlan =
    needing(plan, Seq(order.head.child)) { below =>
      JObject("count" -> JInt(count), "ties" -> JBool(ties), "key" -> key(below, below.expressions.head, order.head))
    }

  private def needing(plan: LogicalPlan, expressions: Seq[Expression])(rows: ScanBelow => JObject): LogicalPlan =
    ScanBelow.replaced(plan, expressions) { below =>
      if (below.scan.needed.isDefined || below.scan.files < 2) below.relation
      else below.reading(JObject("first" -> JObject(rows(below).obj :+ ("hindrance" -> below.hindrance: JField))))
    }

  private def key(below: ScanBelow, expression: Expression, order: SortOrder): JObject = {
    val (bare, padded) = expression match {
      case CharPadding(column) => (column, true)
      case other => (other, false)
    }
    JObject(
      "column" -> ScanBelow.column(bare, below.scan).fold[JValue](JNull)(JString(_)),
      "text" -> JString(EvaluatedPartitionPredicates.text(bare)),
      "descending" -> JBool(order.direction == Descending),
      "nulls_first" -> JBool(order.nullOrdering == NullsFirst),
      "padded" -> JBool(padded))
  }
}
