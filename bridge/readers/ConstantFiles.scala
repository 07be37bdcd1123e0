package org.apache.spark.sql.parquetry.readers

import org.apache.spark.rdd.InputFileBlockHolder
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.vectorized.{ColumnVectorUtils, ConstantColumnVector}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Files that need not be opened, since the planner knows how many rows they have, and the one value of each
 * column that the scan reads. A piece of a file carries both. A partition has such files only, or none.
 */
object ConstantFiles {
  private val rows = "parquetry.rows"
  private val values = "parquetry.values"

  /** A whole file that is not opened. */
  def of(file: PartitionedFile, count: Long, ofData: InternalRow): PartitionedFile =
    file.copy(otherConstantMetadataColumnValues = Map(rows -> count, values -> ofData))
  def contains(file: PartitionedFile): Boolean = file.otherConstantMetadataColumnValues.contains(rows)

  def rowsOf(file: PartitionedFile): Long = file.otherConstantMetadataColumnValues(rows).asInstanceOf[Long]
  def valuesOf(file: PartitionedFile): InternalRow = file.otherConstantMetadataColumnValues(values).asInstanceOf[InternalRow]
}

/**
 * Reads partitions of files that need not be opened, and all others by another factory.
 *
 * @param data the columns that the values of files are of
 * @param read the columns of `data` that are read, before the partition columns
 */
class ConstantFileReaders(inner: PartitionReaderFactory, data: StructType, read: StructType, partition: StructType)
  extends PartitionReaderFactory {
  private val places = read.fieldNames.map(data.fieldIndex)
  private val schema = StructType(read ++ partition)

  override def supportColumnarReads(partition: InputPartition): Boolean = inner.supportColumnarReads(partition)
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case ConstantFileReaders.Files(files) => new Rows(files)
    case other => inner.createReader(other)
  }
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] = partition match {
    case ConstantFileReaders.Files(files) => new Batches(files)
    case other => inner.createColumnarReader(other)
  }

  private def row(file: PartitionedFile): InternalRow = {
    val values = ConstantFiles.valuesOf(file)
    new GenericInternalRow(
      places.map(at => values.get(at, data(at).dataType)) ++ file.partitionValues.toSeq(partition))
  }

  /** Goes through files; `step` rows of a file come at once. */
  private abstract class Reader[T](files: Array[PartitionedFile], step: Int) extends PartitionReader[T] {
    private val waiting = files.iterator
    private var left = 0L
    protected def begin(row: InternalRow): Unit
    protected def take(count: Int): Unit

    override def next(): Boolean = {
      while (left == 0 && waiting.hasNext) {
        val file = waiting.next()
        InputFileBlockHolder.set(file.urlEncodedPath, file.start, file.length)
        left = ConstantFiles.rowsOf(file)
        begin(row(file))
      }
      val count = left.min(step).toInt
      left -= count
      take(count)
      count > 0
    }
    override def close(): Unit = InputFileBlockHolder.unset()
  }

  private class Rows(files: Array[PartitionedFile]) extends Reader[InternalRow](files, 1) {
    private val projection = UnsafeProjection.create(schema)
    private var current: UnsafeRow = _
    override protected def begin(row: InternalRow): Unit = current = projection(row)
    override protected def take(count: Int): Unit = ()
    override def get(): InternalRow = current
  }

  private class Batches(files: Array[PartitionedFile]) extends Reader[ColumnarBatch](files, ConstantFileReaders.batchRows) {
    private var batch: ColumnarBatch = _
    override protected def begin(row: InternalRow): Unit = {
      val vectors = schema.fields.zipWithIndex.map { case (field, at) =>
        val vector = new ConstantColumnVector(ConstantFileReaders.batchRows, field.dataType)
        ColumnVectorUtils.populate(vector, row, at)
        vector
      }
      batch = new ColumnarBatch(vectors.toArray)
    }
    override protected def take(count: Int): Unit = if (count > 0) batch.setNumRows(count)
    override def get(): ColumnarBatch = batch
  }
}

object ConstantFileReaders {
  private val batchRows = 4096

  private object Files {
    def unapply(partition: InputPartition): Option[Array[PartitionedFile]] = partition match {
      case part: FilePartition if part.files.nonEmpty && part.files.forall(ConstantFiles.contains) => Some(part.files)
      case _ => None
    }
  }
}
