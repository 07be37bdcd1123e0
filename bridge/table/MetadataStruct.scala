package org.apache.spark.sql.parquetry.table

import org.apache.spark.sql.connector.catalog.MetadataColumn
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.parquetry.versions.Columns
import org.apache.spark.sql.types.{DataType, StructField, StructType}

/**
 * The metadata of the file that a row was read from, as a struct that `SELECT *` leaves out. Spark's own file
 * sources have the same struct. For Parquet it also has the position of the row in the file.
 */
case class MetadataStruct(override val name: String, parquet: Boolean) extends MetadataColumn {
  override def dataType(): DataType = MetadataStruct.whole(parquet)
  override def isNullable: Boolean = false
  override def comment(): String = "path, size and time of change of the file that holds the row"
}

object MetadataStruct {
  // the marks on Spark's own fields are only for its own sources
  private def whole(parquet: Boolean): StructType = {
    val rows = Option.when(parquet)(ParquetFileFormat.ROW_INDEX_FIELD)
    StructType((FileFormat.BASE_METADATA_FIELDS ++ rows).map(f => StructField(f.name, f.dataType, nullable = false)))
  }

  def fromSchema(schema: StructType, format: String): MetadataStruct =
    MetadataStruct(FileColumn.free(FileFormat.METADATA_NAME, schema), format != "orc")

  /** Whether readers count a field's value, which differs from row to row. */
  def isCounted(field: StructField): Boolean = field.name == ParquetFileFormat.ROW_INDEX
  /** The column that makes readers count it. */
  val counter: StructField = StructField(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME, ParquetFileFormat.ROW_INDEX_FIELD.dataType)

  /** The value of a field of the struct for a piece of a file. */
  def value(field: StructField, file: PartitionedFile): Any =
    Columns.ofFile(field, file)
}
