package org.apache.spark.sql.parquetry.scan

import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.parquetry.protocol.ScanAnswer

/**
 * What a scan reads, as it was planned when Spark asked for it. A scan may stand in a plan more than once, and values of a join come to
 * each place by itself: what one of them leaves out, the others read.
 */
class PlannedBatch(private val scan: ParquetryScan, answer: => ScanAnswer) extends Batch {
  // Spark makes a batch long before it asks what is read: files that are listed for it alone must be asked for no sooner.
  override def planInputPartitions(): Array[InputPartition] = scan.partitions(answer)
  override def createReaderFactory(): PartitionReaderFactory = scan.readerFactory

  // Spark itself compares the values that arrive at run time.
  override def equals(other: Any): Boolean = other match {
    case batch: PlannedBatch => batch.scan == scan
    case _ => false
  }
  override def hashCode(): Int = scan.hashCode()
}
