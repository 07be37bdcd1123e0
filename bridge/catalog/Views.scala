package org.apache.spark.sql.parquetry.catalog

import scala.jdk.CollectionConverters._

import org.json4s._

import org.apache.spark.sql.parquetry.protocol.{Json, ViewAnswer}
import org.apache.spark.sql.parquetry.versions.Relations.{newView, View}
import org.apache.spark.sql.types.StructType

/** Encodes views for the planner, and decodes the planner's. */
object Views {
  def described(view: View): JValue = JObject(
    "schema" -> Json.ofType(view.schema()),
    "text" -> JString(view.queryText()),
    "catalog" -> text(view.currentCatalog()),
    "namespace" -> Json.strings(view.currentNamespace()),
    "settings" -> Json.strings(view.sqlConfigs().asScala.toMap),
    "schema_mode" -> text(view.schemaMode()),
    "query_columns" -> Json.strings(view.queryColumnNames()),
    "properties" -> Json.strings(view.properties().asScala.toMap))

  def fromAnswer(answer: ViewAnswer): View = {
    val builder = newView()
      .withQueryText(answer.text)
      .withCurrentCatalog(answer.catalog.orNull)
      .withCurrentNamespace(answer.namespace.toArray)
      .withSqlConfigs(answer.settings.asJava)
      .withSchemaMode(answer.schemaMode.orNull)
      .withQueryColumnNames(answer.queryColumns.toArray)
    builder.withSchema(answer.schema)
    builder.withProperties(answer.properties.asJava)
    builder.build()
  }

  /**
   * A view with the columns that its query has now. The names of the query's columns that it takes do not
   * change.
   */
  def evolved(view: View, schema: StructType): View = {
    val builder = newView()
      .withQueryText(view.queryText())
      .withCurrentCatalog(view.currentCatalog())
      .withCurrentNamespace(view.currentNamespace())
      .withSqlConfigs(view.sqlConfigs())
      .withSchemaMode(view.schemaMode())
      .withQueryColumnNames(view.queryColumnNames())
    builder.withSchema(schema)
    builder.withProperties(view.properties())
    builder.build()
  }

  private def text(value: String): JValue = if (value == null) JNull else JString(value)
}
