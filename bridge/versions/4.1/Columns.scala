package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{DescribeRelation, LogicalPlan}
import org.apache.spark.sql.connector.catalog.{CatalogV2Util, Column, Identifier, Table}
import org.apache.spark.sql.connector.expressions.FieldReference
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.v2.DescribeTableExec
import org.apache.spark.sql.types.{StructField, StructType}

/** Columns of tables, and what Spark knows of them. Before Spark 4.2, columns have no ids. */
object Columns {
  def of(schema: StructType, withIds: Boolean): Array[Column] = CatalogV2Util.structTypeToV2Columns(schema)
  def withId(field: StructField, id: String): StructField = field
  val comparison: Option[String] = None

  /** The value of a field of Spark's metadata struct for a piece of a file. */
  def ofFile(field: StructField, file: PartitionedFile): Any =
    FileFormat.getFileConstantMetadataColumnValue(field.name, file, FileFormat.BASE_METADATA_EXTRACTORS).value
}

/** A DESCRIBE of a whole table: the table, whether it is EXTENDED, and the output. */
object Description {
  def unapply(found: DescribeRelation): Option[(LogicalPlan, Boolean, Seq[Attribute])] =
    Option.when(found.partitionSpec.isEmpty)((found.relation, found.isExtended, found.output))

  /** The table of a DESCRIBE of a partition that Spark would refuse. */
  def refused(found: DescribeRelation): Option[LogicalPlan] = Option.when(found.partitionSpec.nonEmpty)(found.relation)

  def of(output: Seq[Attribute], catalog: String, ident: Identifier, table: Table, extended: Boolean): SparkPlan =
    DescribeTableExec(output, table, extended)
}

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
