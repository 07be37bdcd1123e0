package org.apache.spark.sql.parquetry.changes

import java.util.OptionalLong

import org.json4s._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.parquetry.predicates.RowGroupFilters
import org.apache.spark.sql.parquetry.protocol.{Json, ParquetryException, ScanAnswer, Settings}
import org.apache.spark.sql.parquetry.readers.{ErrorNamingReaderFactory, FileReaders, FileSplits}
import org.apache.spark.sql.parquetry.table.{HiddenColumns, ParquetryTable, PushedPredicate}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Spark's readers for the files of changes. The columns of changes are constant in each file, so readers give
 * them as they give the values of partitions.
 *
 * @param required the columns that are read
 */
class ChangeReaders(table: ParquetryTable, required: StructType, pushed: Seq[PushedPredicate], options: CaseInsensitiveStringMap) {
  private val session = SparkSession.active
  private val (partitionColumns, dataSchema) = {
    val (p, d) = required.fields.filterNot(f => ChangeColumns.names(f.name)).partition(f => table.partitionColumns.contains(f.name))
    (p, StructType(d))
  }
  private val partitionSchema = StructType(partitionColumns ++ ChangeColumns.fields)

  val schema: StructType = StructType(dataSchema.fields ++ partitionSchema.fields)
  /** The table's columns that are read. */
  val columns: JArray = Json.strings((dataSchema.fields ++ partitionColumns).map(_.name))

  private lazy val readers = new FileReaders(session, table, partitionSchema, dataSchema, new HiddenColumns(table, StructType(Nil)), options)
  lazy val factory: PartitionReaderFactory =
    ErrorNamingReaderFactory.wrap(readers.factory(RowGroupFilters(pushed, table), atOnce = false), table)
  def partitions(answer: ScanAnswer): Array[InputPartition] =
    new FileSplits(session, answer, partitionSchema, None, (piece, _) => piece).mixed.toArray[InputPartition]
  def support: Scan.ColumnarSupportMode =
    if (readers.columnar) Scan.ColumnarSupportMode.SUPPORTED else Scan.ColumnarSupportMode.UNSUPPORTED
}

/** A scan of the files that versions removed and added. `CompareRows` takes out the rows that are in both. */
class ChangesScan(table: ChangesTable, required: StructType, pushed: Seq[PushedPredicate], options: CaseInsensitiveStringMap)
  extends Scan with Batch with SupportsReportStatistics {
  private val readers = new ChangeReaders(table.of, required, pushed, options)
  private lazy val answer: ScanAnswer = {
    val compared = table.compared.getOrElse(throw new ParquetryException("UNSUPPORTED",
      s"The ${table.name()} are read by the rules of Parquetry: add org.apache.spark.sql.parquetry.ParquetryExtensions to spark.sql.extensions."))
    table.of.askOnce("plan_changes", "first" -> JInt(table.first), "mode" -> JString(table.mode),
      "by_key" -> JBool(table.keys.nonEmpty), "compared" -> JBool(compared), "columns" -> readers.columns,
      "predicates" -> JArray(pushed.map(_.tree).toList), Json.readOptions(options), Settings.field).as[ScanAnswer]
  }

  override def readSchema(): StructType = readers.schema
  override def description(): String = answer.description
  override def toBatch: Batch = this
  override def planInputPartitions(): Array[InputPartition] = readers.partitions(answer)
  override def createReaderFactory(): PartitionReaderFactory = readers.factory
  override def columnarSupportMode(): Scan.ColumnarSupportMode = readers.support
  override def estimateStatistics(): Statistics = new Statistics {
    override def sizeInBytes(): OptionalLong = OptionalLong.of(answer.statistics.bytes)
    override def numRows(): OptionalLong = OptionalLong.empty()
  }
}
