package org.apache.spark.sql.parquetry

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.connector.read.{HasPartitionKey, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

/**
 * Files of one bucket, all of whose rows that are read lie in it.
 *
 * @param columns of the bucket; the key has a value for each, see `BucketFunction`
 */
class KeyedFilePartition(
    index: Int, files: Array[PartitionedFile], val bucket: Int, columns: Int,
    override val readers: Option[PartitionReaderFactory] = None)
  extends FilePartition(index, files) with HasPartitionKey with HasReaders {
  override def partitionKey(): InternalRow =
    new GenericInternalRow(Array.tabulate[Any](columns)(i => KeyedFilePartition.value(bucket, i + 1, columns)))
  def of(index: Int, files: Array[PartitionedFile]): KeyedFilePartition =
    new KeyedFilePartition(index, files, bucket, columns, readers)
  def by(readers: PartitionReaderFactory): KeyedFilePartition =
    new KeyedFilePartition(index, files, bucket, columns, Some(readers))
}

/**
 * The keys of buckets keep Spark from taking some of the functions of a bucket for all.
 *
 * The bucket of (a, b) is told as two functions (`BucketFunction`). Where a query goes on with `a` alone, Spark leaves out the second.
 * If the keys still differ then, it concludes that equal values of `a` are in one partition. They are not. So for each column two
 * keys are the same without it; Spark holds such a partitioning for too coarse to use, unless `allowKeysSubsetOfPartitionKeys` is on:
 *
 *     bucket    0       1       2       3       4
 *     key     (0, 0)  (1, 0)  (0, 2)  (3, 3)  (4, 4)      of two columns: 0 and 1 differ in the first alone, 0 and 2 in the second
 *
 * That takes a bucket more than there are columns. Of fewer, partitions without files stand for those that are missing: 2 buckets by
 * two columns are 3 partitions. Of one bucket alone nothing wrong can be concluded. No key is there twice, for then Spark would bring
 * the partitions of that key together, and take its rows for unsorted.
 */
object KeyedFilePartition {
  /** The value of a bucket in one of the columns, which are numbered from 1. */
  def value(bucket: Int, column: Int, columns: Int): Int =
    if (bucket > columns || bucket == column) bucket else 0

  /**
   * The value that stands for the same rows where buckets are folded to fewer. These must be more than the columns: then each of the
   * buckets that the comment above speaks of stays what it is.
   */
  def folded(value: Int, count: Int, column: Int, columns: Int): Int = this.value(value % count, column, columns)

  /** Partitions without files, for those of the buckets that Spark must see and that have none. */
  def missing(buckets: BucketsAnswer, present: Int => Boolean): Seq[KeyedFilePartition] = {
    val columns = buckets.columns.length
    if (columns == 1 || buckets.count == 1) Nil
    else (0 to columns).filterNot(present).map(new KeyedFilePartition(0, Array.empty, _, columns))
  }
}
