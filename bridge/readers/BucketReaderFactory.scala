package org.apache.spark.sql.parquetry.readers

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, EqualTo, GenericInternalRow, Literal, Predicate}
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.parquetry.hash.{BucketHash, BucketKeys}
import org.apache.spark.sql.parquetry.protocol.BucketsAnswer
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

/**
 * Files that are read for one bucket. All rows that are read of them belong to this bucket.
 *
 * @param columns number of the bucket's columns; the key has a value for each, see `BucketKeys`
 */
class KeyedFilePartition(
    index: Int, files: Array[PartitionedFile], val bucket: Int, columns: Int,
    override val readers: Option[PartitionReaderFactory] = None)
  extends FilePartition(index, files) with HasPartitionKey with HasReaders {
  override def partitionKey(): InternalRow =
    new GenericInternalRow(Array.tabulate[Any](columns)(i => BucketKeys.value(bucket, i + 1, columns)))
  def of(index: Int, files: Array[PartitionedFile]): KeyedFilePartition =
    new KeyedFilePartition(index, files, bucket, columns, readers)
  def by(readers: PartitionReaderFactory): KeyedFilePartition =
    new KeyedFilePartition(index, files, bucket, columns, Some(readers))
}

object KeyedFilePartition {
  /** Partitions without files, for buckets that have no files but that Spark must see (see `BucketKeys`). */
  def missing(buckets: BucketsAnswer, present: Int => Boolean): Seq[KeyedFilePartition] = {
    val columns = buckets.columns.length
    if (columns == 1 || buckets.count == 1) Nil
    else (0 to columns).filterNot(present).map(new KeyedFilePartition(0, Array.empty, _, columns))
  }
}
