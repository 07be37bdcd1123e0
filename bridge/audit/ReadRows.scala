package org.apache.spark.sql.parquetry.audit

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.{InterruptibleIterator, Partition, TaskContext}
import org.apache.spark.rdd.{InputFileBlockHolder, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.parquetry.protocol.{Causes, ScanAnswer}
import org.apache.spark.sql.parquetry.scan.ParquetryScan

/**
 * The rows of a scan's partitions, each followed by the path of its file. They are read as Spark's node for
 * sources reads them, by batches where the readers can.
 */
class ReadRows(@transient val session: ClassicSession, @transient inputs: Array[InputPartition], factory: PartitionReaderFactory)
  extends RDD[InternalRow](session.sparkContext, Nil) {

  // decided here: a factory may look at settings that tasks have not
  override protected def getPartitions: Array[Partition] =
    inputs.zipWithIndex.map { case (input, i) => ReadPartition(i, input, factory.supportColumnarReads(input)): Partition }

  override def compute(split: Partition, task: TaskContext): Iterator[InternalRow] = {
    val ReadPartition(_, input, byBatches) = split.asInstanceOf[ReadPartition]
    val rows =
      if (byBatches) of(UnreadableFile.named(factory.createColumnarReader(input)), task).flatMap(_.rowIterator().asScala)
      else of(UnreadableFile.named(factory.createReader(input)), task)
    val joined = new JoinedRow
    val file = new GenericInternalRow(1)
    new InterruptibleIterator(task, rows.map { row =>
      file.update(0, InputFileBlockHolder.getInputFilePath)
      joined(row, file)
    })
  }

  private def of[T](reader: PartitionReader[T], task: TaskContext): Iterator[T] = {
    task.addTaskCompletionListener[Unit](_ => reader.close())
    new Iterator[T] {
      private var ready = false
      private var ended = false
      override def hasNext: Boolean = {
        if (!ready && !ended) {
          ready = UnreadableFile.named(reader.next())
          ended = !ready
        }
        ready
      }
      override def next(): T = {
        if (!hasNext) throw new NoSuchElementException
        ready = false
        reader.get()
      }
    }
  }
}

private case class ReadPartition(index: Int, input: InputPartition, byBatches: Boolean) extends Partition

/** A file that an audit cannot read. It is no wrong claim: a query fails that needs the file. */
class UnreadableFile(cause: Throwable) extends RuntimeException(cause.getMessage, cause)

object UnreadableFile {
  def named[T](read: => T): T = try read catch {
    case NonFatal(e) => throw new UnreadableFile(e)
  }
  /** The message of a reader's error, if it is the cause of an error. */
  def unapply(e: Throwable): Option[String] =
    Causes.of(e).collectFirst { case unreadable: UnreadableFile => String.valueOf(unreadable.getMessage) }
}

object ReadRows {
  def apply(session: ClassicSession, scan: ParquetryScan, answer: ScanAnswer): ReadRows =
    new ReadRows(session, scan.partitions(answer), scan.readerFactory)
}
