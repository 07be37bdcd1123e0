package org.apache.spark.sql.parquetry.readers

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.connector.read.{HasPartitionKey, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.parquetry.hash.BucketKeys
import org.apache.spark.sql.parquetry.protocol.BucketsAnswer

/**
 * Files that are read for one bucket. All rows that are read of them belong to this bucket.
 *
 * @param columns number of the bucket's columns; the key has a value for each, see `BucketKeys`
 * @param slice which of the files' rows are read, or None for all
 */
class KeyedFilePartition(
    index: Int, files: Array[PartitionedFile], val bucket: Int, columns: Int,
    override val readers: Option[PartitionReaderFactory] = None, val slice: Option[Slice] = None)
  extends FilePartition(index, files) with HasPartitionKey with HasReaders {
  override def partitionKey(): InternalRow =
    new GenericInternalRow(Array.tabulate[Any](columns)(i => BucketKeys.value(bucket, i + 1, columns)))
  def of(index: Int, files: Array[PartitionedFile]): KeyedFilePartition =
    new KeyedFilePartition(index, files, bucket, columns, readers, slice)
  def by(readers: PartitionReaderFactory): KeyedFilePartition =
    new KeyedFilePartition(index, files, bucket, columns, Some(readers), slice)
}

/** One of `of` slices of the same files. */
case class Slice(number: Int, of: Int)

object KeyedFilePartition {
  /** Partitions without files, for buckets that have no files but that Spark must see (see `BucketKeys`). */
  def missing(buckets: BucketsAnswer, present: Int => Boolean): Seq[KeyedFilePartition] = {
    val columns = buckets.columns.length
    if (columns == 1 || buckets.count == 1) Nil
    else (0 to columns).filterNot(present).map(new KeyedFilePartition(0, Array.empty, _, columns))
  }
}
