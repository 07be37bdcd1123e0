package org.apache.spark.sql.parquetry

import org.json4s._

/** `count(*)`, `min` and `max` that the metastore answered alone. */
class MetadataScan(answer: AggregateAnswer) extends RowsScan(answer.schema, answer.rows, answer.description) with Reported {
  override def report: JValue = answer.report
}
