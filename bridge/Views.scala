package org.apache.spark.sql.parquetry

import scala.jdk.CollectionConverters._

import org.json4s._

import org.apache.spark.sql.connector.catalog.View

/** A view as the planner keeps it, and as Spark has it. */
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

  def of(answer: ViewAnswer): View = {
    val builder = new View.Builder()
      .withQueryText(answer.text)
      .withCurrentCatalog(answer.catalog)
      .withCurrentNamespace(answer.namespace.toArray)
      .withSqlConfigs(answer.settings.asJava)
      .withSchemaMode(answer.schemaMode)
      .withQueryColumnNames(answer.queryColumns.toArray)
    builder.withSchema(answer.schema)
    builder.withProperties(answer.properties.asJava)
    builder.build()
  }

  private def text(value: String): JValue = if (value == null) JNull else JString(value)
}
