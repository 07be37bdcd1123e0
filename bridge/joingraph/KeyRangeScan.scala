package org.apache.spark.sql.parquetry.joingraph

import java.util.OptionalLong

import org.json4s._

import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.parquetry.metadata.{MaterialisedRows, PagesReaderFactory}
import org.apache.spark.sql.parquetry.protocol.{Json, RowsAnswer}
import org.apache.spark.sql.parquetry.scan.{ParquetryScan, RuntimeValues}
import org.apache.spark.sql.types.{DataType, StructField, StructType}

/**
 * Stands for another scan, and gives one row for each of its partitions: the partition's values, and the
 * minimum and maximum of a column by file statistics. It reads no file.
 *
 * @param partitions the partition columns of the rows
 */
class KeyRangeScan(private val of: ParquetryScan, private val partitions: Seq[StructField], private val column: String, dataType: DataType)
  extends Scan with Batch with SupportsReportStatistics with SupportsRuntimeV2Filtering {
  @volatile private var found = Seq.empty[Predicate]

  override def readSchema(): StructType =
    StructType(partitions ++ KeyRangeScan.names.map(StructField(_, dataType)))
  override def description(): String = s"least and greatest $column by the statistics of files of version ${of.table.version()}"
  /**
   * The size of the other scan, so that Spark joins both in the same way. Its rows and columns are not these.
   */
  override def estimateStatistics(): Statistics = new Statistics {
    override def sizeInBytes(): OptionalLong = of.estimateStatistics().sizeInBytes()
    override def numRows(): OptionalLong = OptionalLong.empty()
  }

  override def filterAttributes(): Array[NamedReference] = {
    val there = partitions.map(_.name).toSet
    of.filterAttributes().filter(a => there(a.fieldNames().head))
  }
  override def filter(values: Array[Predicate]): Unit = found = values.toSeq

  /** Decided without the rows: before runtime values arrive, these would be the ranges of all partitions. */
  override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
  override def toBatch: Batch = this
  override def planInputPartitions(): Array[InputPartition] = Array(MaterialisedRows(Json.toRows(of.table.ref.ask("file_ends",
    of.table.identity ++ Seq[JField](
      "predicates" -> JArray(of.asked.toList),
      "joined" -> JArray(of.planTimeValues.toList),
      "runtime" -> JArray(found.map(RuntimeValues.tree(_, of.mostValues)).toList),
      "column" -> JString(column),
      "partition_columns" -> Json.strings(partitions.map(_.name))): _*).as[RowsAnswer].rows, readSchema())))
  override def createReaderFactory(): PartitionReaderFactory = PagesReaderFactory

  private def key = (of, readSchema(), column)
  override def equals(other: Any): Boolean = other match {
    case s: KeyRangeScan => s.key == key
    case _ => false
  }
  override def hashCode(): Int = key.hashCode()
}

object KeyRangeScan {
  /** The names of the two columns; no partition column has such a name. */
  val names: Seq[String] = Seq("~least", "~greatest")
}
