package org.apache.spark.sql.parquetry.catalog

import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, RowLevelOperationBuilder, RowLevelOperationInfo, WriteBuilder}
import org.apache.spark.sql.parquetry.protocol.{CatalogRef, Settings, TableAnswer}
import org.apache.spark.sql.parquetry.rows.RowsOperation
import org.apache.spark.sql.parquetry.scan.ParquetryScanBuilder
import org.apache.spark.sql.parquetry.streaming.StreamScan
import org.apache.spark.sql.parquetry.table.{ParquetryTable, TableUse}
import org.apache.spark.sql.parquetry.write.ParquetryWriteBuilder
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * A table that Spark loads from the catalog. It makes its scans, its writes, and the statements that change
 * its rows.
 */
class LoadedTable(ref: CatalogRef, answer: TableAnswer, use: TableUse = TableUse()) extends ParquetryTable(ref, answer, use) {
  override protected def like(answer: TableAnswer, use: TableUse): ParquetryTable = new LoadedTable(ref, answer, use)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    if (isStreamed) () => { Settings.check("stream", options); new StreamScan(this, logical, Nil, options) }
    else {
      Settings.check("read", options)
      new ParquetryScanBuilder(this, options)
    }
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new ParquetryWriteBuilder(this, info)
  override def newRowLevelOperationBuilder(info: RowLevelOperationInfo): RowLevelOperationBuilder =
    () => new RowsOperation(this, info.command())
}
