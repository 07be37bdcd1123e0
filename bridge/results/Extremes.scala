package org.apache.spark.sql.parquetry.results

import org.apache.spark.sql.catalyst.expressions.{Ascending, Descending, NullsLast, SortOrder}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, Max, MaxBy, Min, MinBy}

/** Aggregate functions of the row with the least or greatest value of an expression. */
private[results] object Extremes {
  /**
   * The order whose first row all functions are of. Returns None if a function is none of `min`, `max`,
   * `min_by` and `max_by`, or if they are of several orders. NULL is last: these functions ignore it.
   */
  def order(functions: Seq[AggregateFunction]): Option[SortOrder] = {
    val orders = functions.map(order)
    orders.headOption.flatten.filter(first => orders.forall(_.exists(each => first.semanticEquals(each))))
  }

  private def order(function: AggregateFunction): Option[SortOrder] = function match {
    case Max(value) => Some(SortOrder(value, Descending, NullsLast, Nil))
    case Min(value) => Some(SortOrder(value, Ascending, NullsLast, Nil))
    case MaxBy(_, value) => Some(SortOrder(value, Descending, NullsLast, Nil))
    case MinBy(_, value) => Some(SortOrder(value, Ascending, NullsLast, Nil))
    case _ => None
  }

  /** The position of the extreme among the columns of a function's partial result. */
  def position(function: AggregateFunction): Int = function match {
    case _: MaxBy | _: MinBy => 1
    case _ => 0
  }
}
