package org.apache.spark.sql.parquetry.readers

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Files with their own reader factory, whose readers can skip row groups by runtime values. The scan's own
 * factory is made before these values arrive. (Both are made on the driver: Spark's settings are not
 * available elsewhere.)
 */
trait HasReaders {
  def readers: Option[PartitionReaderFactory]
}

class RuntimeFilterPartition(index: Int, files: Array[PartitionedFile], override val readers: Option[PartitionReaderFactory])
  extends FilePartition(index, files) with HasReaders

/**
 * Files that are read when a query may know by then which rows it still needs.
 *
 * @param readers changes between the jobs of a query: it is sent to executors with each task
 */
class LaterFilePartition(index: Int, files: Array[PartitionedFile], @volatile var readers: Option[PartitionReaderFactory])
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
