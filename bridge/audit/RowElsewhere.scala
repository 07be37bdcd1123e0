package org.apache.spark.sql.parquetry.audit

import org.apache.spark.sql.parquetry.protocol.{Causes, ParquetryException}

/**
 * A row is not where Spark expects it. A task has found it.
 *
 * @param replay the file that the driver writes for it
 */
class RowElsewhere(val words: String, val replay: String) extends ParquetryException("AUDIT", s"$words ${AuditFailure.remedy(replay)}", "XX000")

object RowElsewhere {
  /** The failure of an audit that is the cause of an error. */
  def causeOf(e: Throwable): Option[ParquetryException] =
    Causes.of(e).collectFirst { case failed: ParquetryException if failed.code == "AUDIT" => failed }
}
