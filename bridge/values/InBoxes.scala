package org.apache.spark.sql.parquetry.values

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{ScalarSubquery => _, _}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.execution.ScalarSubquery
import org.apache.spark.sql.types._

/**
 * A condition on a scan's columns with values of a join's other side. A row of the scan satisfies it with
 * the values of one of that side's rows, or has no match. Each of these rows is a box, as in
 *
 * {{{
 * f.day BETWEEN d.first AND d.last         day >= $0 AND day <= $1     rows of (d.first, d.last)
 * }}}
 *
 * The planner gets the condition and the rows (`predicate/reading/join_values.py`). If it does not understand
 * a condition on partition columns, Spark evaluates it over the values of partitions. No row of the table is
 * tested by it.
 *
 * @param condition has a `BoxValue` for each value
 * @param rows a subquery that returns what `CollectBoxes` collects, or that as a literal
 */
case class InBoxes(condition: Expression, rows: Expression) extends BinaryExpression with Predicate with CodegenFallback {
  override def left: Expression = condition
  override def right: Expression = rows
  override def nullable: Boolean = true
  override def sql: String = condition.sql
  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): InBoxes = InBoxes(newLeft, newRight)

  /** The rows, or None if they have not arrived. */
  lazy val arrived: Option[ArrivedBoxes] = rows match {
    case Literal(found: InternalRow, CollectBoxes.Type(fields)) =>
      Some(ArrivedBoxes(found.getBoolean(0), fields, CollectBoxes.rows(found, fields)))
    case _ => None
  }

  @transient private lazy val tests: Seq[Expression] = arrived.get.boxes.map { case (least, greatest) =>
    condition.transform { case value: BoxValue => Literal((if (value.least) least else greatest)(value.at), value.dataType) }
  }
  override def eval(input: InternalRow): Any = tests.exists(_.eval(input) == true)
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

/**
 * Rows that have arrived, in order.
 *
 * @param exact whether they are all; if not, they are the least and the greatest of each value
 */
case class ArrivedBoxes(exact: Boolean, fields: StructType, rows: Seq[Seq[Any]]) {
  /** The least and the greatest values of each box. What needs no value holds without rows, too. */
  def boxes: Seq[(Seq[Any], Seq[Any])] =
    if (rows.isEmpty) Seq((fields.map(_ => null), fields.map(_ => null)))
    else if (exact) rows.map(row => (row, row))
    else Seq((rows.head, rows.last))
}

object InBoxes {
  /** A filter with the results of its subqueries, without Spark's mark of runtime filters. */
  def arrived(filter: Expression): Expression = filter.transform {
    case DynamicPruningExpression(condition) if condition.exists(_.isInstanceOf[InBoxes]) => condition
  }.transform { case result: ScalarSubquery => result.toLiteral }

  /** How often a condition on rows is tested for each of them. */
  def tests(condition: Expression): Int = condition.collect { case boxes: InBoxes => boxes.arrived.fold(1)(_.rows.length) }.sum.max(1)
}
