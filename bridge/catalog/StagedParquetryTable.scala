package org.apache.spark.sql.parquetry.catalog

import org.json4s._

import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.parquetry.protocol.{CatalogRef, TableAnswer}

/** A table that becomes visible when the query that fills it has succeeded. */
class StagedParquetryTable(ref: CatalogRef, answer: TableAnswer, staging: String)
  extends LoadedTable(ref, answer) with StagedTable {
  override def commitStagedChanges(): Unit = ask("publish_table", "mode" -> JString(staging))
  override def abortStagedChanges(): Unit = ask("discard_table")
  override def reportDriverMetrics(): Array[CustomTaskMetric] = Array.empty
}
