package org.apache.spark.sql.execution

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

/**
 * The rows that stand for unavailable values of a subquery. Spark has none of its own before 4.3, so NULL
 * twice stands for them: the values of a subquery are distinct, and have NULL once at most.
 */
object UnavailableValues {
  def rows: Array[InternalRow] = Array.fill(2)(new GenericInternalRow(Array[Any](null)))
  def areIn(found: InSubqueryExec): Boolean = found.values().exists(values => values.length > 1 && values.forall(_ == null))
}
