package org.apache.spark.sql.parquetry.metadata

import java.util.OptionalLong

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{LocalScan, Statistics, SupportsReportStatistics}
import org.apache.spark.sql.types.StructType

/**
 * Rows that the planner has computed; no file is read for them. Their size is reported, since Spark never
 * broadcasts a side of unknown size. Then a runtime filter by that side would get no values.
 */
class RowsScan(schema: StructType, override val rows: Array[InternalRow], text: String) extends LocalScan with SupportsReportStatistics {
  override def readSchema(): StructType = schema
  override def description(): String = text
  override def estimateStatistics(): Statistics = new Statistics {
    // as Spark counts a row: eight bytes, and the default sizes of its columns
    override def sizeInBytes(): OptionalLong = OptionalLong.of(math.max(1L, rows.length.toLong * (8 + schema.defaultSize)))
    override def numRows(): OptionalLong = OptionalLong.empty() // as `ParquetryScan`: no row count without statistics of columns
  }
}
