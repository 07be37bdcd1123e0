package org.apache.spark.sql.parquetry.write

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.write.Write
import org.apache.spark.sql.parquetry.protocol.{PlannerAnswer, WrittenAnswer}
import org.apache.spark.sql.parquetry.scan.PlannedMetric

/** A write that shows its numbers of files, bytes, rows and partitions in Spark's UI when it has ended. */
trait ShownWrite extends Write {
  @volatile private var numbers = Seq.empty[(String, Long)]

  /** Keeps the numbers of the planner's answer about a write. */
  protected def wrote(answer: PlannerAnswer): Unit = {
    val written = answer.as[WrittenAnswer]
    numbers = written.productElementNames.toSeq.zip(written.productIterator.map(_.asInstanceOf[Long]))
  }

  override def supportedCustomMetrics(): Array[CustomMetric] =
    Array("files", "bytes", "rows", "partitions").map(what => new PlannedMetric(what, s"$what written"))
  override def reportDriverMetrics(): Array[CustomTaskMetric] = numbers.toArray.map { case (what, number) =>
    new CustomTaskMetric {
      override def name(): String = what
      override def value(): Long = number
    }
  }
}
