package org.apache.spark.sql.parquetry.readers

import org.apache.spark.SparkEnv
import org.apache.spark.sql.connector.read._
import org.apache.spark.util.Utils

/**
 * Gives each partition a factory of its own. With `preserveOrderingOnCoalesce` Spark reads all partitions of a bucket at once in one task, to merge
 * their rows, and its factory for Parquet closes a file when it opens another: rows were lost, or read from what was closed (Spark 4.3.0).
 */
class SeparateReaderFactory(inner: PartitionReaderFactory) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = inner.supportColumnarReads(partition)
  override def createReader(partition: InputPartition) = copied().createReader(partition)
  override def createColumnarReader(partition: InputPartition) = copied().createColumnarReader(partition)

  private def copied(): PartitionReaderFactory = Utils.clone(inner, SparkEnv.get.closureSerializer.newInstance())
}
