package org.apache.spark.sql.parquetry.merging

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.parquetry.readers.{KeyedFilePartition, Slice}
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Passes on a slice of the rows of files that several tasks read. All tasks read the same batches, and each
 * uses every n-th of them; rows that come one by one are counted off alike. So each row is in one task, and
 * the rows of a slice are in the order of the file.
 */
class SliceReaderFactory(inner: PartitionReaderFactory) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = inner.supportColumnarReads(partition)
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    sliced(inner.createReader(partition), partition, SliceReaderFactory.ROWS)
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    sliced(inner.createColumnarReader(partition), partition, 1)

  private def sliced[T](reader: PartitionReader[T], partition: InputPartition, unit: Int): PartitionReader[T] = partition match {
    case part: KeyedFilePartition => part.slice.fold(reader)(new SlicedReader(reader, _, unit))
    case _ => reader
  }

  /** @param unit how many elements of the reader belong together */
  private class SlicedReader[T](reader: PartitionReader[T], slice: Slice, unit: Int) extends PartitionReader[T] {
    private var position = -1L

    override def next(): Boolean = {
      while (reader.next()) {
        position += 1
        if (position / unit % slice.of == slice.number) return true
      }
      false
    }
    override def get(): T = reader.get()
    override def close(): Unit = reader.close()
  }
}

private object SliceReaderFactory {
  /** As many rows of a file go to one task at once. */
  val ROWS = 1024
}
