package org.apache.spark.sql.parquetry

import java.util

import org.json4s._

import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** What the planner knows of a table, as a table to read: `catalog.db.t.history` and the like. */
class MetadataTable(ref: CatalogRef, answer: JValue) extends Table with SupportsRead {
  private val shape = Json.struct(answer \ "schema")

  override def name(): String = Json.text(answer \ "name")
  override def columns(): Array[Column] = CatalogV2Util.structTypeToV2Columns(shape, false)
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new ScanBuilder {
    override def build(): Scan = {
      val asked = Seq[JField]("table" -> (answer \ "table"), "kind" -> (answer \ "kind"))
      new RowsScan(shape, ref.ask("read_metadata_table", asked: _*), name())
    }
  }
}
