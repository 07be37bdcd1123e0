package org.apache.spark.sql.parquetry.rows

import org.json4s._

import org.apache.spark.sql.connector.expressions.{LiteralValue, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.parquetry.protocol.{Json, ScanAnswer}
import org.apache.spark.sql.parquetry.scan.{Asked, ParquetryScan, PlannedBatch, Reported}
import org.apache.spark.sql.parquetry.table.{ParquetryTable, Schemas}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * The files that a statement rewrites. Before Spark reads them, it finds the names of the files with matching
 * rows.
 *
 * It is no `ParquetryScan`, since values of joins must prune nothing here: rows that are not read would be
 * lost.
 */
class RewrittenScan(inner: ParquetryScan)
  extends Scan with SupportsReportStatistics with SupportsRuntimeV2Filtering with Reported with Asked {
  private val column = inner.table.fileColumn.name
  @volatile private var chosen = Option.empty[ScanAnswer]

  override def readSchema(): StructType = inner.readSchema()
  override def description(): String = chosen.fold(inner.description())(_.description)
  override def table: ParquetryTable = inner.table
  override def asked: Seq[JValue] = inner.asked
  override def report: JValue = chosen.fold(inner.report)(_.report)
  override def sameScan: String = inner.sameScan
  override def estimateStatistics(): Statistics = inner.estimateStatistics()
  override def columnarSupportMode(): Scan.ColumnarSupportMode = inner.columnarSupportMode()
  override def supportedCustomMetrics(): Array[CustomMetric] = inner.supportedCustomMetrics()
  override def reportDriverMetrics(): Array[CustomTaskMetric] = chosen.fold(inner.reportDriverMetrics())(inner.driverMetrics)

  override def filterAttributes(): Array[NamedReference] = Array(Schemas.reference(column))

  /**
   * Chooses files once, for all places of the scan in a plan: one place takes matching rows, another the
   * other rows.
   */
  override def filter(values: Array[Predicate]): Unit = synchronized {
    if (chosen.isEmpty) values.filter(_.name == "IN").map(_.children.toSeq).collectFirst {
      case (found: NamedReference) +: paths if found.fieldNames.sameElements(Array(column)) =>
        chosen = Some(inner.listedAt(paths.collect { case LiteralValue(path: UTF8String, _) => path.toString }))
    }
  }
  override def toBatch: Batch = new PlannedBatch(inner, answer)
  private def answer: ScanAnswer = chosen.getOrElse(inner.listed)

  /**
   * The rewritten files for the planner: all files that were read, or some. With them go the values of their
   * partitions, and maybe of others, in the order of the partition columns.
   */
  def rewritten(some: Option[Seq[String]]): Seq[JField] = {
    val order = inner.table.partitionSchema()
    val read = inner.partitionSchema
    val places = order.fieldNames.map(read.fieldIndex)
    val partitions = answer.partitions.map(row => Json.ofTexts(places.toSeq.map(row(_))))
    Seq("files" -> Json.strings(some.getOrElse(answer.files.paths.toSeq)), "partitions" -> JArray(partitions.toList))
  }
}
