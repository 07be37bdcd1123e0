package org.apache.spark.sql.parquetry.table

import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32

import org.apache.spark.sql.parquetry.versions.Columns
import org.apache.spark.sql.types._

/**
 * Ids of columns and of fields within them. By its id Spark distinguishes a column from another one that has
 * taken its name since a DataFrame was made.
 *
 * An id is computed from a column's name in the files, which no other column of the table ever has; Spark
 * wants a number.
 *
 * Spark shows an id in the metadata of its column, so `df.schema` would not equal a schema that a user
 * writes. So columns have ids only while Spark compares them, before it runs a query.
 */
object FieldIds {
  /** Spark's key in a column's metadata: the id that a user wants it to have in Parquet files. */
  val Given = "parquet.field.id"

  /** Whether a column's metadata has an id for files. */
  def isGiven(metadata: Metadata): Boolean = metadata.contains(Given) && scala.util.Try(metadata.getLong(Given)).isSuccess

  /** Whether the caller is Spark's comparison of a table's columns. */
  def areCompared: Boolean = StackWalker.getInstance().walk(_.limit(4).anyMatch(frame => Columns.comparison.contains(frame.getClassName)))

  def added(logical: StructType, physical: StructType): StructType =
    StructType(logical.fields.zip(physical.fields).map { case (l, p) => Columns.withId(l.copy(dataType = within(l.dataType, p.dataType)), id(p.name)) })

  private def within(logical: DataType, physical: DataType): DataType = (logical, physical) match {
    case (l: StructType, p: StructType) => added(l, p)
    case (l: ArrayType, p: ArrayType) => l.copy(elementType = within(l.elementType, p.elementType))
    case (l: MapType, p: MapType) => l.copy(keyType = within(l.keyType, p.keyType), valueType = within(l.valueType, p.valueType))
    case (l, _) => l
  }

  private def id(name: String): String = {
    val sum = new CRC32
    sum.update(name.getBytes(UTF_8))
    sum.getValue.toString
  }
}
