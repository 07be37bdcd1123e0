package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.parser.ParserInterface

/** The methods of a parser that not every version of Spark has: before 4.3, Spark has none of them. */
trait DelegatingParser extends ParserInterface {
  protected def inner: ParserInterface
}
