package org.apache.spark.sql.parquetry.streaming

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory, Scan}
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.parquetry.predicates.RowGroupFilters
import org.apache.spark.sql.parquetry.protocol.ScanAnswer
import org.apache.spark.sql.parquetry.readers.{ErrorNamingReaderFactory, FileReaders, FileSplits}
import org.apache.spark.sql.parquetry.table.{HiddenColumns, ParquetryTable, PushedPredicate}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * The scan of a streaming query. Spark makes it once, for all columns; `PruneStreamColumns` derives a scan
 * for each batch that reads only the needed columns. It reports no buckets, and takes no runtime values,
 * since a batch has only the files of a few versions.
 */
class StreamScan(val table: ParquetryTable, val required: StructType, val pushed: Seq[PushedPredicate],
    val options: CaseInsensitiveStringMap) extends Scan {
  private val session = SparkSession.active

  val hidden: HiddenColumns = new HiddenColumns(table, required)
  val (partitionSchema, dataSchema) = {
    val (p, d) = required.fields.filterNot(f => hidden.names(f.name)).partition(f => table.partitionColumns.contains(f.name))
    (StructType(p), StructType(d))
  }

  override def readSchema(): StructType = StructType(dataSchema.fields ++ partitionSchema.fields ++ hidden.fields)
  override def description(): String = s"${table.name()} (stream)"
  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = new TableStream(this, checkpoint, None)

  private lazy val readers = new FileReaders(session, table, partitionSchema, dataSchema, hidden, options)
  lazy val readerFactory: PartitionReaderFactory =
    ErrorNamingReaderFactory.wrap(readers.factory(RowGroupFilters(pushed, table), atOnce = false), table)
  def partitions(answer: ScanAnswer): Array[_ <: InputPartition] = files(answer)
  def files(answer: ScanAnswer): Array[FilePartition] =
    new FileSplits(session, answer, partitionSchema, None, hidden.beside(_, partitionSchema, _)).mixed

  override def columnarSupportMode(): Scan.ColumnarSupportMode =
    if (readers.columnar) Scan.ColumnarSupportMode.SUPPORTED else Scan.ColumnarSupportMode.UNSUPPORTED
}
