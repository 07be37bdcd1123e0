package org.apache.spark.sql.execution

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

/**
 * The rows that Spark takes for unavailable values of a subquery; it then skips the subquery's filter.
 * Spark's class is visible only in this package.
 */
object UnavailableValues {
  def rows: Array[InternalRow] = Array(new GenericInternalRow(InSubqueryExecResultState.unavailableResult))
  def areIn(found: InSubqueryExec): Boolean = found.isResultUnavailable
}
