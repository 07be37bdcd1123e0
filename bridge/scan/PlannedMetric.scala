package org.apache.spark.sql.parquetry.scan

import org.apache.spark.sql.connector.metric.CustomSumMetric

/**
 * A number that the planner has Spark's UI show.
 *
 * Spark records the name of this class beside that of the metric, and makes one without arguments to add up values: so
 * one class does for all metrics, as long as they are added up alike.
 */
class PlannedMetric(metric: String, text: String) extends CustomSumMetric {
  def this() = this("", "")
  override def name(): String = metric
  override def description(): String = text
}
