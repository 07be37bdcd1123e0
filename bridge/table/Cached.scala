package org.apache.spark.sql.parquetry.table

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.parquetry.protocol.CatalogRef
import org.apache.spark.sql.parquetry.versions.Kept

/** Keeps Spark's cached data of tables up to date, for statements that Spark itself does not do it for. */
object Cached {
  def refresh(table: ParquetryTable): Unit = refresh(table.ref, Some(table.path))

  /** Drops cached data of a table, as Spark does after each batch of a stream: the next rows come soon. */
  def forget(table: ParquetryTable): Unit = {
    val session = SparkSession.active
    session.sharedState.cacheManager.uncacheTableOrView(session, table.ref.name +: table.path, cascade = true)
  }

  /** Caches a table's data anew; `changed` is the table's database and name, or None if no table changed. */
  def refresh(catalog: CatalogRef, changed: Option[Seq[String]]): Unit = changed.foreach { parts =>
    val session = SparkSession.active
    Kept.recache(session, catalog.name +: parts)
  }
}
