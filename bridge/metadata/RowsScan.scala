package org.apache.spark.sql.parquetry.metadata

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.LocalScan
import org.apache.spark.sql.types.StructType

/** Rows that the planner has computed; no file is read for them. */
class RowsScan(schema: StructType, override val rows: Array[InternalRow], text: String) extends LocalScan {
  override def readSchema(): StructType = schema
  override def description(): String = text
}
