package org.apache.spark.sql.parquetry.protocol

import org.json4s._

import org.apache.spark.sql.catalyst.parser._

/** The values of a statement's parameter markers `:name` and `?`, as SQL. */
object Parameters {
  def fields(parameters: ParameterContext): Seq[JField] = parameters match {
    case named: NamedParameterContext => Seq("named" -> Json.strings(named.params.map { case (k, v) => k -> v.sql }))
    case positional: PositionalParameterContext => Seq("positional" -> Json.strings(positional.params.map(_.sql)))
    case hybrid: HybridParameterContext if hybrid.paramNames.exists(_.nonEmpty) =>
      Seq("named" -> Json.strings(hybrid.paramNames.zip(hybrid.args.map(_.sql)).toMap))
    case hybrid: HybridParameterContext => Seq("positional" -> Json.strings(hybrid.args.map(_.sql)))
    case _ => Nil
  }
}
