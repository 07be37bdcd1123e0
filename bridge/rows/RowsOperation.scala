package org.apache.spark.sql.parquetry.rows

import org.json4s._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder}
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.parquetry.protocol.{Bridge, Json, PlannerAnswer, Settings}
import org.apache.spark.sql.parquetry.scan.{ParquetryScan, ParquetryScanBuilder}
import org.apache.spark.sql.parquetry.table.{ParquetryTable, Schemas}
import org.apache.spark.sql.parquetry.write.ShownWrite
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * DELETE, UPDATE or MERGE of rows. Spark reads the files that may hold a match, and replaces them by the rows
 * that it makes of theirs (`ReplaceData`). The planner selects the files by the statement's conditions; then
 * a query for matching rows selects among them.
 */
class RowsOperation(val table: ParquetryTable, override val command: RowLevelOperation.Command) extends RowLevelOperation {
  @volatile private var read = Option.empty[RewrittenScan]
  /** The statement's scan, once it is planned. */
  def scan: Option[RewrittenScan] = read
  /** See `RecordMergeSearch`; None if the statement inserts no rows. */
  @volatile var searchedBy = Option.empty[Seq[String]]

  override def requiredMetadataAttributes(): Array[NamedReference] =
    Array(Schemas.reference(table.fileColumn.name))

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new ParquetryScanBuilder(table, options) {
    override def build(): Scan = {
      // every row of a file is written again, so readers must not skip rows by the statement's condition
      val scan = new RewrittenScan(new ParquetryScan(table, pushed.map(_.copy(rowGroups = None)), required, options).withoutBuckets)
      read = Some(scan)
      scan
    }
  }

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new WriteBuilder {
    override def build(): Write = new RowsWrite(RowsOperation.this)
  }

  /**
   * Replaces some of the files that were read, or all of them, by rows. Returns the planner's answer.
   *
   * @param reads the tables that the statement read
   */
  def replace(rows: DataFrame, files: Option[Seq[String]], reads: JArray): PlannerAnswer =
    Bridge.write(table.ref, table.inPlace(rows), "rewrite_rows", table.identity ++ read.get.rewritten(files) ++ Seq[JField](
      "predicates" -> JArray(read.get.asked.toList), "reads" -> reads,
      "statement" -> JString(command.name.toLowerCase), Settings.field) ++ searchedBy.map("searched_by" -> Json.strings(_)): _*)
}

/** The write of a `RowsOperation`; `RewriteRowsExec` runs it. */
class RowsWrite(val operation: RowsOperation) extends ShownWrite {
  def replace(rows: DataFrame, files: Option[Seq[String]], reads: JArray): Unit = wrote(operation.replace(rows, files, reads))
  override def description(): String = s"${operation.command} ${operation.table.name()}"
}
