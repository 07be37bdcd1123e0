package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.parser.{ParserInterface, SqlStatementSplitResult, TemporalIdentifier}

/** The methods of a parser that not every version of Spark has: the previous parser answers them. */
trait DelegatingParser extends ParserInterface {
  protected def inner: ParserInterface

  override def parseTemporalTableIdentifier(text: String): TemporalIdentifier = inner.parseTemporalTableIdentifier(text)
  override def splitStatements(text: String): SqlStatementSplitResult = inner.splitStatements(text)
}
