package org.apache.spark.sql.parquetry.scan

import org.json4s._

/** A scan with a report: what it pruned, and why. */
trait Reported {
  def report: JValue
  /** Whether no files need to be listed for the report. */
  def isReportReady: Boolean = true
}

/** A scan that was planned with conditions of the query: `asked`. */
trait Asked { def asked: Seq[JValue] }
