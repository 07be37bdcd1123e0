package org.apache.spark.sql.parquetry.hash

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
object BucketKeys {
  /** The value of a bucket in one of the columns, which are numbered from 1. */
  def value(bucket: Int, column: Int, columns: Int): Int =
    if (bucket > columns || bucket == column) bucket else 0

  /**
   * The value that stands for the same rows where buckets are folded to fewer. These must be more than the columns: then each of the
   * buckets that the comment above speaks of stays what it is.
   */
  def folded(value: Int, count: Int, column: Int, columns: Int): Int = this.value(value % count, column, columns)
}
