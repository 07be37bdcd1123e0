package org.apache.spark.sql.parquetry.readers

import org.apache.spark.SparkEnv
import org.apache.spark.sql.connector.read._
import org.apache.spark.util.Utils

/** A step that runs before the files of a partition are read. */
trait BeforeReading extends Serializable {
  def apply(partition: InputPartition): Unit
}

/** Spark's reader factory, with steps that run first. */
class PreparedReaderFactory(val inner: PartitionReaderFactory, steps: Seq[BeforeReading]) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = inner.supportColumnarReads(partition)
  override def createReader(partition: InputPartition) = {
    steps.foreach(_(partition))
    inner.createReader(partition)
  }
  override def createColumnarReader(partition: InputPartition) = {
    steps.foreach(_(partition))
    inner.createColumnarReader(partition)
  }
}

/**
 * Gives each partition a factory of its own. One task reads several files of a bucket at once if their rows
 * are merged: by `MergingReaderFactory`, or by Spark with `preserveOrderingOnCoalesce`. Spark's factory for
 * Parquet closes a file when it opens another one, so rows were lost, or read from closed files (Spark
 * 4.3.0).
 */
class SeparateReaderFactory(inner: PartitionReaderFactory) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = inner.supportColumnarReads(partition)
  override def createReader(partition: InputPartition) = copied().createReader(partition)
  override def createColumnarReader(partition: InputPartition) = copied().createColumnarReader(partition)

  private def copied(): PartitionReaderFactory = Utils.clone(inner, SparkEnv.get.closureSerializer.newInstance())
}
