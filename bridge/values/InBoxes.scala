package org.apache.spark.sql.parquetry.values

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{ScalarSubquery => _, _}
import org.apache.spark.sql.catalyst.expressions.Literal.FalseLiteral
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.execution.ScalarSubquery
import org.apache.spark.sql.parquetry.protocol.Bridge
import org.apache.spark.sql.types._

/**
 * A condition on a scan's columns with values of a join's other side: it holds for a row of the scan if it
 * holds for one of these values' rows. Each row is a box, as in
 *
 * {{{
 * f.day BETWEEN d.first AND d.last         day >= $0 AND day <= $1     rows of (d.first, d.last)
 * }}}
 *
 * Only the scan uses it, once the rows have arrived (`InBoxes.written`). No row is tested by it.
 *
 * @param condition has a `BoxValue` for each value
 * @param rows a subquery that returns what `CollectBoxes` collects
 */
case class InBoxes(condition: Expression, rows: Expression) extends BinaryExpression with Predicate with Unevaluable {
  override def left: Expression = condition
  override def right: Expression = rows
  override def nullable: Boolean = true
  override def sql: String = condition.sql
  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): InBoxes = InBoxes(newLeft, newRight)
}

/**
 * The value at a position of a box.
 *
 * @param sql the expression that it is a value of
 * @param least whether it stands for the least one if several boxes are taken together, or for the greatest
 */
case class BoxValue(at: Int, dataType: DataType, least: Boolean, override val sql: String) extends LeafExpression with Unevaluable {
  override def nullable: Boolean = true
  override def toString: String = sql
}

object InBoxes {
  /** A filter with the results of its subqueries, without Spark's mark of runtime filters. */
  def arrived(filter: Expression): Expression = filter.transform {
    case DynamicPruningExpression(condition) if condition.exists(_.isInstanceOf[InBoxes]) => condition
  }.transform { case result: ScalarSubquery => result.toLiteral }

  /**
   * A filter with its boxes written out, once their rows have arrived: `day >= 3 AND day <= 5 OR …`. Of more
   * boxes than become conditions, neighbours are taken together.
   */
  def written(filter: Expression): Expression = filter.transform {
    case InBoxes(condition, Literal(found: InternalRow, CollectBoxes.Type(values))) =>
      val rows = CollectBoxes.rows(found, values)
      val size = (rows.length + Bridge.terms.limits.boxes - 1) / Bridge.terms.limits.boxes
      val ends = condition.collect { case value: BoxValue => (value.at, value.least) }.distinct
      // of one end alone, as in `day < $0`, the widest box has all others
      val boxes = if (found.getBoolean(0) && ends.length > 1) rows.grouped(1.max(size)).toSeq else Seq(rows)
      // without rows, what needs no value still holds: `day BETWEEN $0 AND $1 OR x = 4`
      (if (rows.isEmpty) Seq(Nil) else boxes).map(box => simplified(valued(condition, box, values))).distinct.reduce(Or(_, _))
  }

  /** The condition for the rows of a box, from the least to the greatest of each value. */
  private def valued(condition: Expression, box: Seq[Seq[Any]], values: StructType): Expression = condition.transform {
    case BoxValue(at, dataType, least, _) =>
      val there = box.map(_(at)).filter(_ != null)
      val order = TypeUtils.getInterpretedOrdering(values(at).dataType)
      Literal(if (there.isEmpty) null else if (least) there.min(order) else there.max(order), dataType)
  }

  /** A comparison with NULL holds for no row, but for `<=>`. */
  private def simplified(condition: Expression): Expression = condition.transformUp {
    case same: EqualNullSafe => same
    case comparison: BinaryComparison if comparison.children.exists { case Literal(null, _) => true; case _ => false } => FalseLiteral
    case And(a, b) if a == FalseLiteral || b == FalseLiteral => FalseLiteral
    case Or(a, FalseLiteral) => a
    case Or(FalseLiteral, b) => b
    case And(GreaterThanOrEqual(a, from: Literal), LessThanOrEqual(b, to: Literal)) if from == to && a == b => EqualTo(a, from)
  }
}
