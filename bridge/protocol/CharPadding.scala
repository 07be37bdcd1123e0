package org.apache.spark.sql.parquetry.protocol

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction
import org.apache.spark.sql.types.{DataType, IntegerType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Spark's padding of CHAR values that it reads: a name for it in predicates, and the expression that is
 * padded.
 */
object CharPadding extends ScalarFunction[UTF8String] {
  override def name(): String = "CHAR_PADDED"
  override def canonicalName(): String = "parquetry.char_padded"
  override def inputTypes(): Array[DataType] = Array(StringType, IntegerType)
  override def resultType(): DataType = StringType

  def unapply(e: Expression): Option[Expression] = e match {
    case s: StaticInvoke if s.functionName == "readSidePadding" => Some(s.arguments.head)
    case _ => None
  }
}
