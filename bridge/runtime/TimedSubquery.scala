package org.apache.spark.sql.parquetry.runtime

import java.util.UUID
import java.util.concurrent.{Callable, ExecutionException, TimeUnit, TimeoutException}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.UnavailableValues
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.util.ThreadUtils

/**
 * A subquery for a runtime filter, with a time limit. If its values do not arrive in time, it is stopped, and
 * returns the rows that Spark (`InSubqueryExec`) takes for unavailable values: the filter is skipped, and
 * everything is read.
 *
 * @param most the limit in milliseconds, from the subquery's start
 * @param scan records a timeout for the report
 * @param of the column of the filter, for the report
 */
case class TimedSubquery(child: SparkPlan, most: Long, @transient scan: ParquetryScan, of: String)
  extends BaseSubqueryExec with UnaryExecNode {
  private def subquery: BaseSubqueryExec = child.asInstanceOf[BaseSubqueryExec]
  override def name: String = subquery.name
  override def nodeName: String = "SubqueryInTime"
  override def stringArgs: Iterator[Any] = Iterator(name, s"within $most ms") ++ Iterator("given up").filter(_ => late)

  override lazy val metrics: Map[String, SQLMetric] =
    Map("givenUp" -> SQLMetrics.createMetric(sparkContext, "given up, as values were not there in time"))

  private val tag = s"parquetry-values-${UUID.randomUUID()}"
  @volatile private var begun = 0L
  @volatile private var late = false
  /** Whether the time was over before the values arrived. */
  def tooLate: Boolean = late

  // Spark starts a subquery between these two calls: its jobs get the tags that this thread has then.
  override protected def prepareSubqueries(): Unit = {
    super.prepareSubqueries()
    sparkContext.addJobTag(tag)
  }
  override protected def doPrepare(): Unit = {
    sparkContext.removeJobTag(tag)
    begun = System.nanoTime()
  }

  override def executeCollect(): Array[InternalRow] = if (late) UnavailableValues.rows else {
    val rows = TimedSubquery.waiting.submit(new Callable[Array[InternalRow]] {
      override def call(): Array[InternalRow] = subquery.executeCollect()
    })
    val left = TimeUnit.MILLISECONDS.toNanos(most) - (System.nanoTime() - begun)
    try rows.get(left.max(0L), TimeUnit.NANOSECONDS) catch {
      case failed: ExecutionException => throw failed.getCause
      case _: TimeoutException =>
        late = true
        rows.cancel(true)
        sparkContext.cancelJobsWithTag(tag)
        scan.recordTimeout(of, most)
        metrics("givenUp").set(1)
        SQLMetrics.postDriverMetricUpdates(
          sparkContext, sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY), metrics.values.toSeq)
        UnavailableValues.rows
    }
  }

  override protected def doExecute(): RDD[InternalRow] =
    throw new UnsupportedOperationException("a subquery's rows are collected")
  /** Equal for the same values, whichever scans they are for, so that Spark runs one subquery. */
  override protected def doCanonicalize(): SparkPlan = TimedSubquery(child.canonicalized, most, null, "")
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

object TimedSubquery {
  private lazy val waiting = ThreadUtils.newDaemonCachedThreadPool("parquetry-values")
}
