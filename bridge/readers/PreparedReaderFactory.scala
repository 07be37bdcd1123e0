package org.apache.spark.sql.parquetry.readers

import org.apache.spark.sql.connector.read._

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
