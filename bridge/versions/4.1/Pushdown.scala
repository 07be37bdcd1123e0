package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.expressions.FieldReference
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters

/**
 * A condition on partition columns that is evaluated over the values of partitions. Spark 4.1 makes none:
 * this class stands in for the class of later versions.
 */
object Pushdown {
  class OnPartitions(val expression: Expression)
    extends Predicate("PARTITION_PREDICATE", expression.references.toArray.map(a => FieldReference.column(a.name)))

  /** Whether Spark itself gives a scan such conditions. */
  val givesOnPartitions: Boolean = false

  /** The predicate of a condition, or None if Spark makes none. */
  def onPartitions(condition: Expression): Option[OnPartitions] = Some(new OnPartitions(condition))

  /** Takes predicates; Spark 4.1 offers each of them once. */
  trait Repeated extends SupportsPushDownV2Filters {
    def supportsIterativePushdown(): Boolean = false
  }
}
