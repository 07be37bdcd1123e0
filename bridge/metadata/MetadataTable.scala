package org.apache.spark.sql.parquetry.metadata

import java.util

import scala.jdk.CollectionConverters._

import org.json4s.{JArray, JValue}
import org.json4s.jackson.JsonMethods.{compact, render}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder, SupportsPushDownLimit, SupportsPushDownV2Filters}
import org.apache.spark.sql.parquetry.protocol.{CatalogRef, Json, MetadataTableAnswer}
import org.apache.spark.sql.parquetry.versions.Columns
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The planner's metadata of a table, as a table to read: `catalog.db.t.history` and the like. */
class MetadataTable(ref: CatalogRef, answer: MetadataTableAnswer, val isPast: Boolean = false) extends Table with SupportsRead {
  override def name(): String = answer.name
  /** Names the version of the table that it describes. */
  def identity: JValue = answer.table.json
  /** The same table, of a version that the query names. */
  def past: MetadataTable = new MetadataTable(ref, answer, isPast = true)
  override def schema(): StructType = answer.schema // older code of Spark calls it instead of `columns`
  override def columns(): Array[Column] = Columns.of(answer.schema, withIds = false)
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new ScanBuilder with SupportsPushDownV2Filters with SupportsPushDownLimit {
      private var most = Int.MaxValue
      private var offered = Array.empty[Predicate]

      /** Spark evaluates all predicates on the rows; with them the planner reads fewer rows. */
      override def pushPredicates(predicates: Array[Predicate]): Array[Predicate] = {
        offered = predicates
        predicates
      }
      override def pushedPredicates(): Array[Predicate] = Array.empty
      override def pushLimit(limit: Int): Boolean = {
        most = limit
        true
      }

      override def build(): Scan = {
        val options = ref.options.asCaseSensitiveMap().asScala.toMap
        val predicates = compact(render(JArray(offered.map(Json.ofExpression).toList)))
        val pages = MetadataPages(ref.name, options, ref.transaction, compact(render(identity)), answer.kind, answer.schema, predicates)
        val first = pages.page(None)
        val text = name() + (if (first.pushed.isEmpty) "" else first.pushed.mkString(" · pushed filters: [", ", ", "]"))
        // tasks in other JVMs cannot ask the planner
        def rows = pages.rows.take(most).toArray
        val given =
          if (first.next.isEmpty || first.rows.length >= most) Some(Json.toRows(first.rows, answer.schema))
          else Option.when(!SparkSession.active.sparkContext.isLocal)(rows)
        given match {
          case Some(rows) if first.pushed.isEmpty => new RowsScan(answer.schema, rows, text)
          case Some(rows) => new PagesScan(MaterialisedRows(rows), answer.schema, text) // EXPLAIN shows no text of a RowsScan
          case None => new PagesScan(pages, answer.schema, text)
        }
      }
    }
}
