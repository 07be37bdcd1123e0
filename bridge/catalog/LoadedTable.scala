package org.apache.spark.sql.parquetry.catalog

import org.apache.spark.SPARK_VERSION_SHORT
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, RowLevelOperation, RowLevelOperationBuilder, RowLevelOperationInfo, WriteBuilder}
import org.apache.spark.sql.parquetry.protocol.{CatalogRef, ParquetryException, Settings, TableAnswer}
import org.apache.spark.sql.parquetry.rows.RowsOperation
import org.apache.spark.sql.parquetry.scan.ParquetryScanBuilder
import org.apache.spark.sql.parquetry.streaming.StreamScan
import org.apache.spark.sql.parquetry.table.{ParquetryTable, TableUse, VersionAnswers}
import org.apache.spark.sql.parquetry.versions.Constraints
import org.apache.spark.sql.parquetry.write.ParquetryWriteBuilder
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * A table that Spark loads from the catalog. It makes its scans, its writes, and the statements that change
 * its rows.
 *
 * @param group the tables that the query has loaded with this one
 */
class LoadedTable(
    ref: CatalogRef, answer: TableAnswer, use: TableUse = TableUse(), answers: VersionAnswers = new VersionAnswers,
    group: LoadGroup = new LoadGroup)
  extends ParquetryTable(ref, answer, use, answers) {
  override protected def like(answer: TableAnswer, use: TableUse): ParquetryTable = new LoadedTable(ref, answer, use, answers, group)
  override def version(): String = {
    LoadsTogether.see(group)
    super.version()
  }

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    if (isStreamed) () => { Settings.check("stream", options); new StreamScan(this, logical, Nil, options) }
    else {
      Settings.check("read", options)
      new ParquetryScanBuilder(this, options)
    }
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = {
    requireTypes(logical)
    requireTests()
    new ParquetryWriteBuilder(this, info)
  }
  override def newRowLevelOperationBuilder(info: RowLevelOperationInfo): RowLevelOperationBuilder = {
    requireTypes(logical)
    if (info.command() != RowLevelOperation.Command.DELETE) requireTests()
    () => new RowsOperation(this, info.command())
  }

  /** Refuses to write rows that the table's constraints forbid and Spark would not test. */
  private def requireTests(): Unit =
    if (!Constraints.areEnforced) answer.constraints.find(c => c.kind == "check" && c.enforced).foreach { c =>
      throw new ParquetryException("UNSUPPORTED", s"Table ${name()} has the constraint ${c.name} CHECK (${c.predicate.mkString}), and Spark " +
        s"${SPARK_VERSION_SHORT} tests no rows by constraints: write with Spark 4.1 or later, or drop the constraint there.")
    }
}
