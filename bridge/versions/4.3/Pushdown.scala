package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters
import org.apache.spark.sql.internal.connector.{PartitionPredicateField, PartitionPredicateImpl}

/** A condition on partition columns that is evaluated over the values of partitions. */
object Pushdown {
  type OnPartitions = PartitionPredicateImpl

  /** Whether Spark itself gives a scan such conditions. */
  val givesOnPartitions: Boolean = true

  /** The predicate of a condition, or None if Spark makes none. */
  def onPartitions(condition: Expression): Option[OnPartitions] =
    PartitionPredicateImpl(
      condition, condition.references.toSeq.map { case a: AttributeReference => PartitionPredicateField(Seq(a.name), a) }, false)

  /** Takes predicates. Spark offers some of them again, as `OnPartitions`. */
  type Repeated = SupportsPushDownV2Filters
}
