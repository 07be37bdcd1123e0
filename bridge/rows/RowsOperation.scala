package org.apache.spark.sql.parquetry.rows

import org.json4s._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder}
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.parquetry.protocol.{Bridge, Json, Settings}
import org.apache.spark.sql.parquetry.scan.{ParquetryScan, ParquetryScanBuilder}
import org.apache.spark.sql.parquetry.table.{ParquetryTable, Schemas}
import org.apache.spark.sql.parquetry.write.ShownWrite
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * DELETE, UPDATE or MERGE of rows: Spark reads the files that may hold a match, and what it makes of all of their rows takes their
 * place (`ReplaceData`). Which files those are the planner says, and then, by a query of their own, the rows that match.
 */
class RowsOperation(val table: ParquetryTable, override val command: RowLevelOperation.Command) extends RowLevelOperation {
  @volatile private var read = Option.empty[RewrittenScan]
  /** What was planned to be read, or was. */
  def scan: Option[RewrittenScan] = read
  /** See `RecordMergeSearch`; None: nothing is inserted. */
  @volatile var searchedBy = Option.empty[Seq[String]]

  override def requiredMetadataAttributes(): Array[NamedReference] =
    Array(Expressions.column(Schemas.quoted(table.fileColumn.name)))

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new ParquetryScanBuilder(table, options) {
    override def build(): Scan = {
      // every row of a file is written again: the readers may leave out none by the statement's condition
      val scan = new RewrittenScan(new ParquetryScan(table, pushed.map(_.copy(rowGroups = None)), required, options).withoutBuckets)
      read = Some(scan)
      scan
    }
  }

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new WriteBuilder {
    override def build(): Write = new RowsWrite(RowsOperation.this)
  }

  /** Puts rows in the place of some files that were read, or of all; returns what was written.
   *
   * @param reads what the statement read
   */
  def replace(rows: DataFrame, files: Option[Seq[String]], reads: JArray): JValue =
    Bridge.write(table.ref, table.inPlace(rows), "rewrite_rows", table.identity ++ read.get.rewritten(files) ++ Seq[JField](
      "predicates" -> JArray(read.get.asked.toList), "reads" -> reads,
      "statement" -> JString(command.name.toLowerCase), Settings.field) ++ searchedBy.map("searched_by" -> Json.strings(_)): _*)
}

/** Carried out by `RewriteRowsExec`. */
class RowsWrite(val operation: RowsOperation) extends ShownWrite {
  def replace(rows: DataFrame, files: Option[Seq[String]], reads: JArray): Unit = wrote(operation.replace(rows, files, reads))
  override def description(): String = s"${operation.command} ${operation.table.name()}"
}
