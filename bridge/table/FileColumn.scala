package org.apache.spark.sql.parquetry.table

import org.apache.spark.sql.connector.catalog.MetadataColumn
import org.apache.spark.sql.types.{DataType, StringType, StructField, StructType}

/**
 * The file that a row was read from, as a column that `SELECT *` leaves out. By this column Spark finds the
 * files that a statement on rows has to rewrite.
 */
case class FileColumn(override val name: String) extends MetadataColumn {
  override def dataType(): DataType = StringType
  override def isNullable: Boolean = false
  override def comment(): String = "the file that holds the row"
  val field: StructField = StructField(name, StringType, nullable = false)
}

object FileColumn {
  /** The file column of a table; its name equals no column's name in any letter case. */
  def fromSchema(schema: StructType): FileColumn =
    FileColumn(free("_file", schema))

  /** The name, with as many underscores before it as make it unequal to all columns' names. */
  def free(name: String, schema: StructType): String =
    Iterator.iterate(name)("_" + _).find(each => !schema.fieldNames.exists(_.equalsIgnoreCase(each))).get
}
