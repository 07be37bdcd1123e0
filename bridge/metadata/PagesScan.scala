package org.apache.spark.sql.parquetry.metadata

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.types.StructType

/**
 * Rows that one task reads when they are used. They exist already, or the task asks the planner for them page
 * by page: then it runs in the JVM that the planner is connected to.
 */
class PagesScan(rows: RowsPartition, schema: StructType, text: String) extends Scan with Batch {
  override def readSchema(): StructType = schema
  override def description(): String = text
  override def toBatch: Batch = this
  override def planInputPartitions(): Array[InputPartition] = Array(rows)
  override def createReaderFactory(): PartitionReaderFactory = PagesReaderFactory
}

object PagesReaderFactory extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = new PartitionReader[InternalRow] {
    private val rows = partition.asInstanceOf[RowsPartition].rows
    private var row: InternalRow = _
    override def next(): Boolean = rows.hasNext && {
      row = rows.next()
      true
    }
    override def get(): InternalRow = row
    override def close(): Unit = ()
  }
}
