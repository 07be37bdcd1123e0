package org.apache.spark.sql.parquetry

import org.json4s._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.LocalScan
import org.apache.spark.sql.types.StructType

/** Rows that the planner gave, and no file was read for. */
class RowsScan(schema: StructType, answer: JValue, text: String) extends LocalScan {
  override def readSchema(): StructType = schema
  override def description(): String = text
  override val rows: Array[InternalRow] = answer.children.map(Json.toRow(_, schema)).toArray
}
