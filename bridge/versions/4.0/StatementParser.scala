package org.apache.spark.sql.parquetry.versions

import org.json4s._

import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Parses statements. Spark 4.0 puts the values of parameter markers into the plan, and tells no parser of
 * them.
 */
trait StatementParser extends ParserInterface {
  protected def inner: ParserInterface
  protected def replaced(text: String, parameters: Seq[JField]): Option[LogicalPlan]

  /** The plan that a parser makes of a text; an error of it may become one that says what to type instead. */
  protected def understood(text: String)(parse: => LogicalPlan): LogicalPlan

  override def parsePlan(text: String): LogicalPlan = replaced(text, Nil).getOrElse(understood(text)(inner.parsePlan(text)))
}
