package org.apache.spark.sql.parquetry.scan

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.parquetry.metadata.RowsScan
import org.apache.spark.sql.parquetry.protocol.AggregateAnswer
import org.apache.spark.sql.parquetry.table.ParquetryTable

/**
 * An answer of the metastore, for an audit.
 *
 * @param conditions of the rows, or None if they are not known as Spark's
 * @param functions as the question has them, in the order of the answer's columns after `groupBy`
 */
case class AnsweredCalls(conditions: Option[Seq[Expression]], functions: Seq[JValue], groupBy: Seq[String] = Nil)

/** The result of `count`, `min` and `max` that the metastore alone has answered. */
class MetadataScan(val answer: AggregateAnswer, override val asked: Seq[JValue], override val table: ParquetryTable, val calls: Option[AnsweredCalls])
  extends RowsScan(answer.schema, answer.sparkRows, answer.description) with Reported with Asked {
  override def report: JValue = answer.report
  override def sameScan: String = Reported.sameScan(table.versioned, asked)
}
