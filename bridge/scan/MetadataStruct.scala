package org.apache.spark.sql.parquetry

import org.apache.spark.sql.connector.catalog.MetadataColumn
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.types.{DataType, StructField, StructType}

/** What Spark's own file sources tell of the file that a row was read from, as the same struct, which `SELECT *` leaves out. */
case class MetadataStruct(override val name: String) extends MetadataColumn {
  override def dataType(): DataType = MetadataStruct.whole
  override def isNullable: Boolean = false
  override def comment(): String = "path, size and time of change of the file that holds the row"
}

object MetadataStruct {
  // the marks that Spark's own fields bear are for its own sources
  val whole: StructType = StructType(FileFormat.BASE_METADATA_FIELDS.map(f => StructField(f.name, f.dataType, nullable = false)))

  def of(schema: StructType): MetadataStruct =
    MetadataStruct(FileColumn.free(FileFormat.METADATA_NAME, schema))

  /** What a field of the struct is of a piece of a file. */
  def value(field: StructField, file: PartitionedFile): Any =
    FileFormat.getFileConstantMetadataColumnValue(field.name, file, FileFormat.BASE_METADATA_EXTRACTORS, field.dataType).value
}
