package org.apache.spark.sql.parquetry

import java.util

import org.json4s._

import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** What the planner knows of a table, as a table to read: `catalog.db.t.history` and the like. */
class MetadataTable(ref: CatalogRef, answer: MetadataTableAnswer) extends Table with SupportsRead {
  override def name(): String = answer.name
  override def columns(): Array[Column] = CatalogV2Util.structTypeToV2Columns(answer.schema, false)
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new ScanBuilder {
    override def build(): Scan = {
      val rows = ref.ask("read_metadata_table", "table" -> answer.identity, "kind" -> JString(answer.kind))
      new RowsScan(answer.schema, Answers.rows(rows, answer.schema), name())
    }
  }
}
