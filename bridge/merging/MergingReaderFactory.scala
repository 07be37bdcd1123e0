package org.apache.spark.sql.parquetry.merging

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, BoundReference, Descending, RowOrdering, SortOrder}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.parquetry.protocol.OrderAnswer
import org.apache.spark.sql.parquetry.readers.KeyedFilePartition
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Reads the sorted files of a bucket as one: all at once, row by row, in their common order. Spark's own
 * reader of a partition reads its files one after the other, so that the rows of several files are in no
 * order.
 *
 * A task has all files of its bucket open. Each file needs the memory of its reader, and no rows are kept, so
 * the planner limits how many files and bytes are merged (`joins/scans/file_merges.py`).
 *
 * @param inner reads one file; its readers share nothing
 * @param order of the rows of each file
 * @param schema of the rows that are read
 */
class MergingReaderFactory(inner: PartitionReaderFactory, order: Seq[OrderAnswer], schema: StructType) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = false
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    throw new UnsupportedOperationException("Merged files have rows, not batches.")
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case bucket: KeyedFilePartition if bucket.files.length > 1 =>
      new MergingReader(bucket.files.map(file => inner.createReader(bucket.of(bucket.index, Array(file)))), comparison)
    case other => inner.createReader(other)
  }

  /** Spark's comparison of rows: the files were sorted by it when they were written. */
  private def comparison: Ordering[InternalRow] = RowOrdering.create(order.map { case OrderAnswer(column, descending) =>
    val i = schema.fieldIndex(column)
    SortOrder(BoundReference(i, schema(i).dataType, nullable = true), if (descending) Descending else Ascending)
  }, Nil)
}
