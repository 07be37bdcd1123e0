package org.apache.spark.sql.parquetry

import org.json4s._

import org.apache.spark.sql.classic.SparkSession

/** Data that Spark has cached of a table, for statements after which Spark itself does not look for it. */
object Cached {
  /** Caches anew what is made of a table; `changed` is its database and name, or null when it did not change. */
  def refresh(catalog: CatalogRef, changed: JValue): Unit = changed match {
    case JArray(parts) =>
      val session = SparkSession.active
      session.sharedState.cacheManager.recacheTableOrView(session, catalog.name +: parts.map(Json.text), false)
    case _ =>
  }
}
