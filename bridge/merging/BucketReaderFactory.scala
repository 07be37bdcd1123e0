package org.apache.spark.sql.parquetry.merging

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, EqualTo, Literal, Predicate}
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.parquetry.hash.BucketHash
import org.apache.spark.sql.parquetry.protocol.BucketsAnswer
import org.apache.spark.sql.parquetry.readers.KeyedFilePartition
import org.apache.spark.sql.types.StructType

/**
 * Reads files whose rows are in several of the buckets that Spark knows. Each partition gets only the rows of
 * its own bucket.
 *
 * @param schema of the rows that are read
 */
class BucketReaderFactory(inner: PartitionReaderFactory, buckets: BucketsAnswer, schema: StructType) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = false
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val (names, raw) = (buckets.columns, buckets.types)
    val columns = names.map(schema.fieldIndex).map(i => BoundReference(i, schema(i).dataType, nullable = true))
    val belongs = Predicate.create(EqualTo(
      BucketHash.settled(buckets.version, buckets.count, columns, raw),
      Literal(partition.asInstanceOf[KeyedFilePartition].bucket)))
    val reader = inner.createReader(partition)
    new PartitionReader[InternalRow] {
      override def next(): Boolean = {
        while (reader.next()) if (belongs.eval(reader.get())) return true
        false
      }
      override def get(): InternalRow = reader.get()
      override def close(): Unit = reader.close()
      override def currentMetricsValues(): Array[CustomTaskMetric] = reader.currentMetricsValues()
    }
  }
}
