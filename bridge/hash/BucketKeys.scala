package org.apache.spark.sql.parquetry.hash

/**
 * Keys of buckets that prevent Spark from using only some of a bucket's functions.
 *
 * The bucket of (a, b) is reported as two functions (`BucketFunction`). If a query goes on with `a` alone,
 * Spark drops the second function. If the remaining keys still differed, Spark would conclude that equal
 * values of `a` are in one partition, which is wrong. So for each column there are two keys that are equal
 * without it. Spark considers such a partitioning too coarse to use, unless `allowKeysSubsetOfPartitionKeys`
 * is on:
 *
 *     bucket    0       1       2       3       4
 *     key     (0, 0)  (1, 0)  (0, 2)  (3, 3)  (4, 4)
 *
 * With these two columns, buckets 0 and 1 differ only in the first key, and 0 and 2 only in the second.
 *
 * This takes one bucket more than columns. If a table has fewer buckets, partitions without files stand for
 * the missing ones: 2 buckets by two columns are 3 partitions. From a single bucket Spark can conclude
 * nothing wrong. Each key occurs once, since Spark would combine the partitions of equal keys, and consider
 * their rows unsorted.
 */
object BucketKeys {
  /** The value of a bucket in the function of one column; columns are numbered from 1. */
  def value(bucket: Int, column: Int, columns: Int): Int =
    if (bucket > columns || bucket == column) bucket else 0

  /**
   * The value of the same rows after their buckets are folded to `count`, which must be greater than the
   * number of columns. Then buckets 0 to `columns`, which have the special keys, keep their values.
   */
  def folded(value: Int, count: Int, column: Int, columns: Int): Int = this.value(value % count, column, columns)
}
