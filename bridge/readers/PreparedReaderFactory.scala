package org.apache.spark.sql.parquetry.readers

import org.apache.spark.sql.connector.read._

/** Is done before the files of a partition are read. */
trait BeforeReading extends Serializable {
  def apply(partition: InputPartition): Unit
}

/** Spark's reader factory, with something to be done first. */
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
