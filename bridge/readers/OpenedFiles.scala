package org.apache.spark.sql.parquetry.readers

import scala.util.hashing.MurmurHash3

import org.apache.spark.rdd.InputFileBlockHolder
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.AccumulatorV2
import org.apache.spark.util.collection.OpenHashSet

/** The files that the tasks of a scan have opened, each counted once. A LIMIT ends before all are opened. */
class OpenedFiles extends AccumulatorV2[String, Integer] {
  /** Hashes of paths, since a scan may have a million files. */
  private var files = new OpenHashSet[Long]

  override def isZero: Boolean = files.size == 0
  override def copy(): OpenedFiles = {
    val other = new OpenedFiles
    other.merge(this)
    other
  }
  override def reset(): Unit = files = new OpenHashSet[Long]
  override def add(path: String): Unit =
    files.add((MurmurHash3.stringHash(path, 1).toLong << 32) | (MurmurHash3.stringHash(path, 2) & 0xffffffffL))
  override def merge(other: AccumulatorV2[String, Integer]): Unit = other match {
    case opened: OpenedFiles => opened.files.iterator.foreach(files.add)
    case _ =>
  }
  override def value: Integer = files.size
}

/**
 * A reader factory that notes which files are opened. Spark's readers open the files of a partition one after
 * another, and name the current one (`InputFileBlockHolder`).
 */
class OpenedFilesFactory(inner: PartitionReaderFactory, opened: OpenedFiles) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = inner.supportColumnarReads(partition)
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = noting(inner.createReader(partition), partition)
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    noting(inner.createColumnarReader(partition), partition)

  private def noting[T](reader: PartitionReader[T], partition: InputPartition): PartitionReader[T] = partition match {
    case files: FilePartition => new NotingReader(reader, files.files.map(_.urlEncodedPath))
    case _ => reader
  }

  private class NotingReader[T](reader: PartitionReader[T], paths: Array[String]) extends PartitionReader[T] {
    /** The number of files that are known to be opened: the first of `paths`. */
    private var noted = 0
    private var current: UTF8String = _

    override def next(): Boolean = {
      val more = reader.next()
      if (noted < paths.length) {
        if (!more) noteUntil(paths.length)
        else {
          val path = InputFileBlockHolder.getInputFilePath
          if (!(path eq current)) {
            current = path
            // a task that merges the rows of several partitions may be at a file of another one
            noteUntil(noted.max(1).max(paths.indexOf(path.toString, noted) + 1))
          }
        }
      }
      more
    }
    private def noteUntil(count: Int): Unit = {
      paths.slice(noted, count).foreach(opened.add)
      noted = count
    }
    override def get(): T = reader.get()
    override def close(): Unit = reader.close()
    override def currentMetricsValues(): Array[CustomTaskMetric] = reader.currentMetricsValues()
  }
}
