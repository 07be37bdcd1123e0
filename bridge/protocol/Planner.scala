package org.apache.spark.sql.parquetry.protocol

/**
 * The calls that Python answers. Questions and answers are JSON texts of one protocol version, so that they
 * can be recorded and replayed. The only object that is passed is the DataFrame of a write.
 */
trait Planner {
  def ask(question: String): String
  def write(question: String, data: Object): String
}
