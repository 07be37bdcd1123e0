package org.apache.spark.sql.parquetry.table

/**
 * The layout that `df.write.partitionBy(…).bucketBy(…).mode("append").saveAsTable(…)` has to repeat.
 *
 * Spark compares what the writer says with the table's partitioning, word for word, in one method. Only there
 * the table shows its buckets and its order beside the partition columns. Spark compares nothing if the
 * writer names no layout.
 */
private[table] object SavedLayout {
  private val Comparison = "checkPartitioningMatchesV2Table"
  private val FramesToSpark = 6

  /** Whether Spark compares the layout at this moment. */
  def isCompared: Boolean =
    StackWalker.getInstance().walk(_.limit(FramesToSpark).anyMatch(_.getMethodName.contains(Comparison)))
}
