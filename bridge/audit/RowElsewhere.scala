package org.apache.spark.sql.parquetry.audit

import java.nio.file.{Files, Paths}

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.parquetry.protocol.ParquetryException

/**
 * A row is elsewhere than Spark was told. A task has found it.
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

  private var watched = Option.empty[SparkContext]

  /** Writes the files of an application's failures from now on: a task cannot, it may be on another machine. */
  def watch(context: SparkContext): Unit = synchronized {
    if (!watched.exists(_ eq context)) {
      context.addSparkListener(new FailuresOfTasks)
      watched = Some(context)
    }
  }

  private class FailuresOfTasks extends SparkListener {
    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case end: SparkListenerSQLExecutionEnd => end.executionFailure.flatMap(causeOf) match {
        case Some(failed: RowElsewhere) if end.qe != null && !Files.exists(Paths.get(failed.replay)) => // an outer statement fails, too
          end.qe.sparkSession.withActive(AuditFailure.writeLocation(end.qe.logical, failed))
        case _ =>
      }
      case _ =>
    }
  }
}
