package org.apache.spark.sql.parquetry.scan

import org.apache.spark.sql.connector.metric.CustomSumMetric

/**
 * A number of the planner's that Spark's UI shows.
 *
 * Spark records the names of the metric and of this class. To aggregate values it creates an instance without
 * arguments. So one class serves all metrics that are sums.
 */
class PlannedMetric(metric: String, text: String) extends CustomSumMetric {
  def this() = this("", "")
  override def name(): String = metric
  override def description(): String = text
}
