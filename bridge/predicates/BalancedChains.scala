package org.apache.spark.sql.parquetry.predicates

/** Joins long chains of conditions as balanced trees. */
object BalancedChains {
  /** Joins conditions in halves; returns `none` for no conditions. */
  def balanced[T](parts: Seq[T], join: (T, T) => T, none: => T): T =
    parts.length match {
      case 0 => none
      case 1 => parts.head
      case n =>
        val (left, right) = parts.splitAt(n / 2)
        join(balanced(left, join, none), balanced(right, join, none))
    }
}
