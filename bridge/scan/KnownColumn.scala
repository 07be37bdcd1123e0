package org.apache.spark.sql.parquetry.scan

import org.apache.spark.sql.catalyst.expressions.{Cast, Literal}
import org.apache.spark.sql.connector.expressions.Expression
import org.apache.spark.sql.connector.expressions.aggregate.{AggregateFunc, Aggregation, Count, CountStar, Max, Min}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.table.{ParquetryTable, Schemas}
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * A column's minimum, maximum and number of NULLs, as text, where the metastore alone has them exactly. They
 * are None if file statistics leave them open, or if the table has no rows.
 */
class KnownColumn(table: ParquetryTable, name: String) {
  private val column = Schemas.reference(name)

  def least: Option[String] = value(new Min(column))
  def greatest: Option[String] = value(new Max(column))
  def nulls: Option[String] = for {
    rows <- value(new CountStar()) if rows != "0"
    values <- value(new Count(column, false))
  } yield (rows.toLong - values.toLong).toString

  private def value(function: AggregateFunc): Option[String] = {
    val builder = new ParquetryScanBuilder(table, CaseInsensitiveStringMap.empty())
    val known = builder.pushAggregation(new Aggregation(Array(function), Array.empty[Expression]))
    Option.when(known)(builder.build()).collect { case found: MetadataScan =>
      val answer = found.readSchema().head.dataType
      Cast(Literal(found.rows.head.get(0, answer), answer), StringType, Some(SQLConf.get.sessionLocalTimeZone)).eval()
    }.flatMap(Option(_)).map(_.toString)
  }
}
