package org.apache.spark.sql.parquetry.audit

import java.nio.file.{Files, Paths}

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.storage.StorageLevel

/**
 * Cleans up after audited queries. It releases the rows that a query kept, and writes the file of a failure
 * that a task has found. The task may be on another machine.
 */
private class AuditedRuns extends SparkListener {
  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd =>
      end.executionFailure.flatMap(RowElsewhere.causeOf).foreach {
        case failed: RowElsewhere if end.qe != null && !Files.exists(Paths.get(failed.replay)) => // an outer statement fails, too
          end.qe.sparkSession.withActive(AuditFailure.writeLocation(end.qe.logical, failed))
        case _ =>
      }
      AuditedRuns.ended(end.executionId).foreach { rows =>
        if (!end.executionName.contains("toLocalIterator")) rows.unpersist(blocking = false) // this action takes them later
      }
    case _ =>
  }
}

object AuditedRuns {
  private var watched = Option.empty[SparkContext]

  /** Looks after an application's queries from now on. */
  def watch(context: SparkContext): Unit = synchronized {
    if (!watched.exists(_ eq context)) {
      context.addSparkListener(new AuditedRuns)
      watched = Some(context)
    }
  }

  private val kept = mutable.Map.empty[Long, List[RDD[InternalRow]]]

  /** Keeps rows until this thread's query has ended. Without one, the garbage collector frees them. */
  def keep(rows: RDD[InternalRow]): RDD[InternalRow] = {
    Option(rows.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)).map(_.toLong).foreach(id =>
      kept.synchronized(kept(id) = rows :: kept.getOrElse(id, Nil)))
    rows.persist(StorageLevel.MEMORY_AND_DISK)
  }
  private def ended(id: Long): List[RDD[InternalRow]] = kept.synchronized(kept.remove(id).getOrElse(Nil))
}
