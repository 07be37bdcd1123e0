package org.apache.spark.sql.parquetry.scan

import org.json4s._

import org.apache.spark.sql.parquetry.metadata.RowsScan
import org.apache.spark.sql.parquetry.protocol.AggregateAnswer

/** The result of `count`, `min` and `max` that the metastore alone has answered. */
class MetadataScan(answer: AggregateAnswer, override val asked: Seq[JValue], table: String)
  extends RowsScan(answer.schema, answer.sparkRows, answer.description) with Reported with Asked {
  override def report: JValue = answer.report
  override def sameScan: String = Reported.sameScan(table, asked)
}
