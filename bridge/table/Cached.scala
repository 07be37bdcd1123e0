package org.apache.spark.sql.parquetry.table

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.parquetry.protocol.CatalogRef

/** Data that Spark has cached of a table, for statements after which Spark itself does not look for it. */
object Cached {
  def refresh(table: ParquetryTable): Unit = refresh(table.ref, Some(table.path))

  /** Lets go of what is made of a table, as Spark does after each batch of a stream: others of its rows come soon. */
  def forget(table: ParquetryTable): Unit = {
    val session = SparkSession.active
    session.sharedState.cacheManager.uncacheTableOrView(session, table.ref.name +: table.path, cascade = true)
  }

  /** Caches anew what is made of a table; `changed` is its database and name, if it did change. */
  def refresh(catalog: CatalogRef, changed: Option[Seq[String]]): Unit = changed.foreach { parts =>
    val session = SparkSession.active
    session.sharedState.cacheManager.recacheTableOrView(session, catalog.name +: parts, false)
  }
}
