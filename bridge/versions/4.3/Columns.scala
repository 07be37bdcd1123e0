package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{DescribeRelation, LogicalPlan}
import org.apache.spark.sql.connector.catalog.{CatalogV2Util, Column, Identifier, Table}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.v2.DescribeTableExec
import org.apache.spark.sql.types.{StructField, StructType}

/** Columns of tables, and what Spark knows of them. */
object Columns {
  def of(schema: StructType, withIds: Boolean): Array[Column] = CatalogV2Util.structTypeToV2Columns(schema, withIds)
  def withId(field: StructField, id: String): StructField = field.withId(id)

  /** The value of a field of Spark's metadata struct for a piece of a file. */
  def ofFile(field: StructField, file: PartitionedFile): Any =
    FileFormat.getFileConstantMetadataColumnValue(field.name, file, FileFormat.BASE_METADATA_EXTRACTORS, field.dataType).value
}

/** A DESCRIBE of a whole table: the table, whether it is EXTENDED, and the output. */
object Description {
  def unapply(found: DescribeRelation): Some[(LogicalPlan, Boolean, Seq[Attribute])] =
    Some((found.relation, found.isExtended, found.output))

  def of(output: Seq[Attribute], catalog: String, ident: Identifier, table: Table, extended: Boolean): SparkPlan =
    DescribeTableExec(output, catalog, ident, table, extended)
}
