package org.apache.spark.sql.parquetry.scan

import java.util.{Collections, HashMap, Map => JMap, Optional, OptionalLong}

import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.read.colstats.{ColumnStatistics, Histogram, HistogramBin}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.protocol.{ColumnAnswer, EstimateAnswer, HistogramAnswer, Json}
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * The rows of a scan's files and the statistics of its columns, as Spark's optimizer has them.
 *
 * @param numRows of the files, or empty if a column has no statistics
 */
case class ColumnEstimates(numRows: OptionalLong, columns: JMap[NamedReference, ColumnStatistics])

object ColumnEstimates {
  val none: ColumnEstimates = ColumnEstimates(OptionalLong.empty(), Collections.emptyMap())

  /** Whether Spark would use statistics: its cost-based optimizer is on, or someone wants them for plans. */
  def areUsed: Boolean = SQLConf.get.cboEnabled || SQLConf.get.planStatsEnabled

  def of(answer: EstimateAnswer, schema: StructType): ColumnEstimates = answer.rows.fold(none) { rows =>
    val columns = new HashMap[NamedReference, ColumnStatistics]()
    answer.columns.foreach(column => columns.put(new Named(column.name), statistics(column, schema(column.name).dataType)))
    ColumnEstimates(OptionalLong.of(rows), columns)
  }

  private def statistics(column: ColumnAnswer, dataType: DataType): ColumnStatistics = new ColumnStatistics {
    private def value(text: Option[String]): Optional[Object] =
      text.fold(Optional.empty[Object]())(t => Optional.of(Json.toValue(t, dataType).asInstanceOf[Object]))
    private val length = OptionalLong.of(column.length.getOrElse(dataType.defaultSize.toLong))
    override def distinctCount(): OptionalLong = OptionalLong.of(column.distinct)
    override def min(): Optional[Object] = value(column.least)
    override def max(): Optional[Object] = value(column.greatest)
    override def nullCount(): OptionalLong = OptionalLong.of(column.nulls)
    override def avgLen(): OptionalLong = length
    override def maxLen(): OptionalLong = length
    override def histogram(): Optional[Histogram] = column.histogram.fold(Optional.empty[Histogram]())(h => Optional.of(ColumnEstimates.histogramOf(h)))
  }

  private def histogramOf(of: HistogramAnswer): Histogram = new Histogram {
    override def height(): Double = of.height
    override def bins(): Array[HistogramBin] = of.ends.zip(of.ends.tail).zip(of.distinct).map { case ((low, high), count) =>
      new HistogramBin {
        override def lo(): Double = low
        override def hi(): Double = high
        override def ndv(): Long = count
      }
    }.toArray
  }

  /** A column by its name. Spark compares `describe` with names, which its own references quote. */
  private class Named(name: String) extends NamedReference {
    override def fieldNames(): Array[String] = Array(name)
    override def describe(): String = name
  }
}
