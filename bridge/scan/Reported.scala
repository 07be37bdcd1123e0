package org.apache.spark.sql.parquetry.scan

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.sql.parquetry.table.ParquetryTable

/** A scan with a report: what it pruned, and why. */
trait Reported {
  def report: JValue
  /** Whether no files need to be listed for the report. */
  def isReportReady: Boolean = true
  /**
   * Gives the report as somebody looks at it. It may ask the planner which conditions pruned something by
   * themselves, and it holds no plan.
   */
  def reportLater: () => JValue = {
    val known = report
    () => known
  }
  /** The buckets that Spark knew as it planned joins: runtime values may leave others. */
  def bucketsInPlanning: JValue = report \ "buckets"
  /** The number of files that the tasks of finished runs have opened, or None if it is not known. */
  def opened: Option[Int] = None
  /** One object for a scan and its variants. A report lists them once. */
  def original: AnyRef = this
  /** A text that is equal for two scans of one version of a table by the same conditions. */
  def sameScan: String
}

/** A scan of a table that was planned with conditions of the query: `asked`. */
trait Asked {
  def table: ParquetryTable
  def asked: Seq[JValue]
}

object Reported {
  def sameScan(table: String, asked: Seq[JValue]): String = (table +: asked.map(compact(_)).distinct.sorted).mkString("\n")
}
