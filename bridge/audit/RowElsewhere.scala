package org.apache.spark.sql.parquetry.audit

import org.apache.spark.sql.parquetry.protocol.ParquetryException

/**
 * A row is not where Spark expects it. A task has found it.
 *
 * @param replay the file that the driver writes for it
 */
class RowElsewhere(val words: String, val replay: String) extends ParquetryException("AUDIT", s"$words ${AuditFailure.remedy(replay)}", "XX000")

object RowElsewhere {
  /** The failure of an audit that is the cause of an error: Spark wraps what a task or a subquery raises. */
  def causeOf(e: Throwable): Option[ParquetryException] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(maxCauses).collectFirst {
      case failed: ParquetryException if failed.code == "AUDIT" => failed
    }
  private val maxCauses = 20
}
