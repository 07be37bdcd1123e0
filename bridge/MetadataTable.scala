package org.apache.spark.sql.parquetry

import java.util

import scala.jdk.CollectionConverters._

import org.json4s.jackson.JsonMethods.{compact, render}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder, SupportsPushDownLimit}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** What the planner knows of a table, as a table to read: `catalog.db.t.history` and the like. */
class MetadataTable(ref: CatalogRef, answer: MetadataTableAnswer) extends Table with SupportsRead {
  override def name(): String = answer.name
  override def columns(): Array[Column] = CatalogV2Util.structTypeToV2Columns(answer.schema, false)
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new ScanBuilder with SupportsPushDownLimit {
    private var most = Int.MaxValue
    override def pushLimit(limit: Int): Boolean = {
      most = limit
      true
    }
    override def build(): Scan = {
      val options = ref.options.asCaseSensitiveMap().asScala.toMap
      val pages = MetadataPages(ref.name, options, compact(render(answer.identity)), answer.kind, answer.schema)
      val first = pages.page(None)
      if (first.next.isEmpty || first.rows.length >= most) new RowsScan(answer.schema, first.rows, name())
      // tasks that run elsewhere have no planner to ask
      else if (!SparkSession.active.sparkContext.isLocal) new RowsScan(answer.schema, pages.rows.take(most).toArray, name())
      else new PagesScan(pages, name())
    }
  }
}
