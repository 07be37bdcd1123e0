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
 * A subquery that gives values to leave something out by, if it does so in time. If not, it is stopped, and gives what Spark
 * (`InSubqueryExec`) takes for values that cannot be had: the filter is passed over, and everything is read.
 *
 * @param most milliseconds from when it was begun
 * @param scan to be told that there are no values
 * @param of what they are of
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
  /** Whether it was given up. */
  def tooLate: Boolean = late

  // Spark begins a subquery between these two: its jobs get the tags that this thread has then.
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
  /** The same values are waited for once, whichever scans they are for. */
  override protected def doCanonicalize(): SparkPlan = TimedSubquery(child.canonicalized, most, null, "")
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

object TimedSubquery {
  private lazy val waiting = ThreadUtils.newDaemonCachedThreadPool("parquetry-values")
}
