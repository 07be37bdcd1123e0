package org.apache.spark.sql.parquetry.versions

import org.json4s._

import org.apache.spark.sql.catalyst.parser._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.parquetry.protocol.Json

/** Parses statements, with values for their parameter markers `:name` and `?`. */
trait StatementParser extends ParserInterface {
  protected def inner: ParserInterface

  /** The plan of another text that the planner gives for a statement, or None if it gives none. */
  protected def replaced(text: String, parameters: Seq[JField]): Option[LogicalPlan]

  /** The plan that a parser makes of a text; an error of it may become one that says what to type instead. */
  protected def understood(text: String)(parse: => LogicalPlan): LogicalPlan

  override def parsePlan(text: String): LogicalPlan = replaced(text, Nil).getOrElse(understood(text)(inner.parsePlan(text)))
  override def parsePlanWithParameters(text: String, parameters: ParameterContext): LogicalPlan =
    replaced(text, Parameters.fields(parameters)).getOrElse(understood(text)(inner.parsePlanWithParameters(text, parameters)))
}

/** The values of a statement's parameter markers, as SQL. */
private object Parameters {
  def fields(parameters: ParameterContext): Seq[JField] = parameters match {
    case named: NamedParameterContext => Seq("named" -> Json.strings(named.params.map { case (k, v) => k -> v.sql }))
    case positional: PositionalParameterContext => Seq("positional" -> Json.strings(positional.params.map(_.sql)))
    case hybrid: HybridParameterContext if hybrid.paramNames.exists(_.nonEmpty) =>
      Seq("named" -> Json.strings(hybrid.paramNames.zip(hybrid.args.map(_.sql)).toMap))
    case hybrid: HybridParameterContext => Seq("positional" -> Json.strings(hybrid.args.map(_.sql)))
    case _ => Nil
  }
}
