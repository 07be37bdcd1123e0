package org.apache.spark.sql.parquetry.metadata

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.parse

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.parquetry.protocol.{CatalogRef, Json, PageAnswer}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Rows that one task reads. */
trait RowsPartition extends InputPartition {
  def rows: Iterator[InternalRow]
}

/** Rows that exist already. */
case class MaterialisedRows(values: Array[InternalRow]) extends RowsPartition {
  override def rows: Iterator[InternalRow] = values.iterator
}

/** The rows of a metadata table, read from the planner page by page: a table may have a million. */
case class MetadataPages(
    catalog: String, options: Map[String, String], transaction: Option[String], table: String, kind: String, schema: StructType,
    predicates: String)
  extends RowsPartition {

  /** @param after `next` of the page before, or None for the first page */
  def page(after: Option[JValue]): PageAnswer = {
    val fields = Seq[JField]("table" -> parse(table), "kind" -> JString(kind), "predicates" -> parse(predicates)) ++ after.map(place => "after" -> place: JField)
    val ref = CatalogRef(catalog, new CaseInsensitiveStringMap(options.asJava))
    ref.transaction = transaction
    ref.ask("read_metadata_table", fields: _*).as[PageAnswer]
  }

  /** All rows; a page is requested when the rows before it have been taken. */
  override def rows: Iterator[InternalRow] =
    Iterator.unfold(Option(Option.empty[JValue]))(_.map { after =>
      val found = page(after)
      (Json.toRows(found.rows, schema), found.next.map(Option(_)))
    }).flatMap(_.iterator)
}
