package org.apache.spark.sql.parquetry.statements

import scala.util.control.NonFatal

import org.json4s.JField

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.parquetry.catalog.Catalogs
import org.apache.spark.sql.parquetry.protocol.{Bridge, ParquetryException}
import org.apache.spark.sql.parquetry.versions.{DelegatingParser, StatementParser}
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * Passes all texts to the previous parser: Spark's own, or another extension's. If one of the planner's words
 * occurs in a statement, the planner sees it first, and may return another text, with parameters filled in.
 * Then that text is parsed. Errors show it, too, since their positions are positions in it.
 * A statement that no parser understands goes to the planner as well, which knows the statements of other
 * products.
 */
class Parser(session: SparkSession, protected val inner: ParserInterface) extends StatementParser with DelegatingParser {
  override protected def replaced(text: String, parameters: Seq[JField]): Option[LogicalPlan] =
    Bridge.rewritten(text, parameters ++ Catalogs.fields(session)).map(other => understood(text)(inner.parsePlan(other)))

  override protected def understood(text: String)(parse: => LogicalPlan): LogicalPlan =
    try parse catch {
      case refused: ParseException =>
        try Bridge.refuseUnparsed(text, Catalogs.fields(session)) catch {
          case answer: ParquetryException if answer.code == "UNSUPPORTED" => throw answer
          case NonFatal(_) => // the parser's error is what the user has to see
        }
        throw refused
    }

  override def parseQuery(text: String): LogicalPlan = inner.parseQuery(text)
  override def parseExpression(text: String): Expression = inner.parseExpression(text)
  override def parseTableIdentifier(text: String): TableIdentifier = inner.parseTableIdentifier(text)
  override def parseFunctionIdentifier(text: String): FunctionIdentifier = inner.parseFunctionIdentifier(text)
  override def parseMultipartIdentifier(text: String): Seq[String] = inner.parseMultipartIdentifier(text)
  override def parseRoutineParam(text: String): StructType = inner.parseRoutineParam(text)
  override def parseTableSchema(text: String): StructType = inner.parseTableSchema(text)
  override def parseDataType(text: String): DataType = inner.parseDataType(text)
}
