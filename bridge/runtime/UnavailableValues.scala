package org.apache.spark.sql.execution

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

/** What Spark takes for values of a subquery that cannot be had, and passes the filter over; it is seen from this package alone. */
object UnavailableValues {
  def rows: Array[InternalRow] = Array(new GenericInternalRow(InSubqueryExecResultState.unavailableResult))
}
