package org.apache.spark.sql.parquetry

import org.apache.spark.sql.catalyst.expressions.Expression

/** Long chains of conditions, no deeper than they need be. */
object Chains {
  /** Joins conditions in halves; `none` is what no conditions are. */
  def balanced(parts: Seq[Expression], join: (Expression, Expression) => Expression, none: => Expression): Expression =
    parts.length match {
      case 0 => none
      case 1 => parts.head
      case n =>
        val (left, right) = parts.splitAt(n / 2)
        join(balanced(left, join, none), balanced(right, join, none))
    }
}
