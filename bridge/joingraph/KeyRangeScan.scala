package org.apache.spark.sql.parquetry.joingraph

import org.json4s._

import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.parquetry.metadata.{MaterialisedRows, PagesReaderFactory}
import org.apache.spark.sql.parquetry.protocol.{Answers, Json}
import org.apache.spark.sql.parquetry.scan.{ParquetryScan, RuntimeValues}
import org.apache.spark.sql.types.{DataType, StructField, StructType}

/**
 * In place of what another scan reads: of each of its partitions the values, and the least and the greatest value of a column, as the
 * statistics of its files tell them. Nothing is read of the files.
 *
 * @param partitions columns whose values are given
 */
class KeyRangeScan(private val of: ParquetryScan, private val partitions: Seq[StructField], private val column: String, dataType: DataType)
  extends Scan with Batch with SupportsReportStatistics with SupportsRuntimeV2Filtering {
  @volatile private var found = Seq.empty[Predicate]

  override def readSchema(): StructType =
    StructType(partitions ++ KeyRangeScan.names.map(StructField(_, dataType)))
  override def description(): String = s"least and greatest $column by the statistics of files of version ${of.table.version()}"
  /** Spark is to join it as it joins the other. */
  override def estimateStatistics(): Statistics = of.estimateStatistics()

  override def filterAttributes(): Array[NamedReference] = {
    val there = partitions.map(_.name).toSet
    of.filterAttributes().filter(a => there(a.fieldNames().head))
  }
  override def filter(values: Array[Predicate]): Unit = found = values.toSeq

  /** Told without a look at what is found: before there are values, that would be the ends of all partitions. */
  override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
  override def toBatch: Batch = this
  override def planInputPartitions(): Array[InputPartition] = Array(MaterialisedRows(Answers.rows(of.table.ref.ask("file_ends",
    of.table.identity ++ Seq[JField](
      "predicates" -> JArray(of.asked.toList),
      "joined" -> JArray(of.planTimeValues.toList),
      "runtime" -> JArray(found.map(RuntimeValues.tree(_, of.mostValues)).toList),
      "column" -> JString(column),
      "partition_columns" -> Json.strings(partitions.map(_.name))): _*), readSchema())))
  override def createReaderFactory(): PartitionReaderFactory = PagesReaderFactory

  private def key = (of, readSchema(), column)
  override def equals(other: Any): Boolean = other match {
    case s: KeyRangeScan => s.key == key
    case _ => false
  }
  override def hashCode(): Int = key.hashCode()
}

object KeyRangeScan {
  /** As no partition column is called. */
  val names: Seq[String] = Seq("~least", "~greatest")
}
