package org.apache.spark.sql.parquetry.readers

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Files that come with their own reader factory: that of the scan is made before a join has found its values, by which readers can
 * leave row groups out. (It is made on the driver, as Spark's settings are not to be had elsewhere.)
 */
trait HasReaders {
  def readers: Option[PartitionReaderFactory]
}

class RuntimeFilterPartition(index: Int, files: Array[PartitionedFile], override val readers: Option[PartitionReaderFactory])
  extends FilePartition(index, files) with HasReaders

/** The scan's reader factory, except for partitions that have their own. */
class RuntimeFilterReaders(inner: PartitionReaderFactory) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = factoryOf(partition).supportColumnarReads(partition)
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = factoryOf(partition).createReader(partition)
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    factoryOf(partition).createColumnarReader(partition)

  private def factoryOf(partition: InputPartition): PartitionReaderFactory = partition match {
    case own: HasReaders => own.readers.getOrElse(inner)
    case _ => inner
  }
}
