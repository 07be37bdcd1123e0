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
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** What the planner knows of a table, as a table to read: `catalog.db.t.history` and the like. */
class MetadataTable(ref: CatalogRef, answer: MetadataTableAnswer) extends Table with SupportsRead {
  override def name(): String = answer.name
  /** Of the version that it tells of. */
  def identity: JValue = answer.identity
  override def columns(): Array[Column] = CatalogV2Util.structTypeToV2Columns(answer.schema, false)
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new ScanBuilder with SupportsPushDownV2Filters with SupportsPushDownLimit {
      private var most = Int.MaxValue
      private var offered = Array.empty[Predicate]

      /** Spark evaluates all of them on the rows; the planner reads fewer of these. */
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
        val pages = MetadataPages(ref.name, options, compact(render(answer.identity)), answer.kind, answer.schema, predicates)
        val first = pages.page(None)
        val text = name() + (if (first.pushed.isEmpty) "" else first.pushed.mkString(" · pushed filters: [", ", ", "]"))
        // tasks that run elsewhere have no planner to ask
        def rows = pages.rows.take(most).toArray
        val given =
          if (first.next.isEmpty || first.rows.length >= most) Some(first.rows)
          else Option.when(!SparkSession.active.sparkContext.isLocal)(rows)
        given match {
          case Some(rows) if first.pushed.isEmpty => new RowsScan(answer.schema, rows, text)
          case Some(rows) => new PagesScan(MaterialisedRows(rows), answer.schema, text) // of rows at hand EXPLAIN tells nothing
          case None => new PagesScan(pages, answer.schema, text)
        }
      }
    }
}
