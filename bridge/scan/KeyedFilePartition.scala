package org.apache.spark.sql.parquetry

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.connector.read.{HasPartitionKey, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

/** Files of one bucket, all of whose rows that are read lie in it; `key` has a value for each bucket column, see `BucketFunction`. */
class KeyedFilePartition(
    index: Int, files: Array[PartitionedFile], key: InternalRow, override val readers: Option[PartitionReaderFactory] = None)
  extends FilePartition(index, files) with HasPartitionKey with HasReaders {
  override def partitionKey(): InternalRow = key
  def bucket: Int = key.getInt(0)
  def of(index: Int, files: Array[PartitionedFile]): KeyedFilePartition = new KeyedFilePartition(index, files, key, readers)
  def by(readers: PartitionReaderFactory): KeyedFilePartition = new KeyedFilePartition(index, files, key, Some(readers))
}

object KeyedFilePartition {
  /** In the place of a bucket. */
  private val none = -1

  def of(bucket: Int, columns: Int, files: Array[PartitionedFile]): KeyedFilePartition =
    new KeyedFilePartition(0, files, new GenericInternalRow(Array.fill[Any](columns)(bucket)))

  /**
   * Partitions without files that keep Spark from taking some of the functions of a bucket for all.
   *
   * The bucket of (a, b) is told as two functions, and bucket 3 has the key (3, 3). Where a query goes on with `a` alone, Spark
   * leaves out the second, sees that the keys still differ, and concludes that equal values of `a` are in one partition. They are
   * not. Of the keys (0, 0), (1, 1), …, (0, -1), (-1, 0) two are the same without the second, and two without the first: then Spark
   * holds such a partitioning for too coarse to use, unless `allowKeysSubsetOfPartitionKeys` is on. No key is there twice for
   * this: Spark would bring the partitions of that key together, and take its rows for unsorted.
   */
  def guards(columns: Int, parts: Seq[KeyedFilePartition]): Seq[KeyedFilePartition] =
    if (columns == 1) Nil
    else (if (parts.exists(_.bucket == 0)) Nil else Seq(of(0, columns, Array.empty))) ++ (0 until columns).map { i =>
      new KeyedFilePartition(0, Array.empty, new GenericInternalRow(Array.tabulate[Any](columns)(c => if (c == i) none else 0)))
    }
}
