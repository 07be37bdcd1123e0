package org.apache.spark.sql.parquetry.scan

import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.parquetry.protocol.ScanAnswer

/**
 * The files of one node of a plan.
 *
 * @param answer the listed files, or the files that the node's runtime values keep (see `NodeScan`)
 */
class PlannedBatch(private val scan: ParquetryScan, answer: => ScanAnswer) extends Batch {
  // Spark makes a batch long before it needs the partitions: until then, no file is listed.
  override def planInputPartitions(): Array[InputPartition] = scan.partitions(answer)
  override def createReaderFactory(): PartitionReaderFactory = scan.readerFactory

  // Spark itself compares the values that arrive at run time.
  override def equals(other: Any): Boolean = other match {
    case batch: PlannedBatch => batch.scan == scan
    case _ => false
  }
  override def hashCode(): Int = scan.hashCode()
}
