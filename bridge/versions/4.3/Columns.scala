package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{DescribeRelation, LogicalPlan}
import org.apache.spark.sql.connector.catalog.{CatalogV2Util, Column, Identifier, Table, V2TableUtil}
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.v2.DescribeTableExec
import org.apache.spark.sql.internal.connector.{PartitionPredicateField, PartitionPredicateImpl}
import org.apache.spark.sql.types.{StructField, StructType}

/** Columns of tables, and what Spark knows of them. */
object Columns {
  def of(schema: StructType, withIds: Boolean): Array[Column] = CatalogV2Util.structTypeToV2Columns(schema, withIds)
  def withId(field: StructField, id: String): StructField = field.withId(id)
  /** The class that compares a table's columns with the columns of an older DataFrame, by their ids, too. */
  val comparison: Option[String] = Some(V2TableUtil.getClass.getName)

  /** The value of a field of Spark's metadata struct for a piece of a file. */
  def ofFile(field: StructField, file: PartitionedFile): Any =
    FileFormat.getFileConstantMetadataColumnValue(field.name, file, FileFormat.BASE_METADATA_EXTRACTORS, field.dataType).value
}

/** A DESCRIBE of a whole table: the table, whether it is EXTENDED, and the output. */
object Description {
  def unapply(found: DescribeRelation): Some[(LogicalPlan, Boolean, Seq[Attribute])] =
    Some((found.relation, found.isExtended, found.output))

  /** The table of a DESCRIBE of a partition that Spark would refuse. */
  def refused(found: DescribeRelation): Option[LogicalPlan] = None

  def of(output: Seq[Attribute], catalog: String, ident: Identifier, table: Table, extended: Boolean): SparkPlan =
    DescribeTableExec(output, catalog, ident, table, extended)
}

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
