package org.apache.spark.sql.parquetry.datafiles

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.mapreduce.{Job, TaskAttemptContext}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * A format that begins another file when one has reached `target` bytes; Spark itself can only count rows. It
 * also takes the footers of the files from their writers.
 *
 * @param name parquet or orc
 */
class RollingFormat(name: String, inner: FileFormat, protocol: DirectCommitProtocol, target: Long, rowBytes: Double)
  extends FileFormat {
  override def inferSchema(session: SparkSession, options: Map[String, String], files: Seq[FileStatus]) =
    inner.inferSchema(session, options, files)
  override def supportDataType(dataType: DataType): Boolean = inner.supportDataType(dataType)
  override def supportFieldName(name: String): Boolean = inner.supportFieldName(name)
  override def prepareWrite(session: SparkSession, job: Job, options: Map[String, String],
      schema: StructType): OutputWriterFactory =
    new RollingFactory(name, inner.prepareWrite(session, job, options, schema), protocol, target, rowBytes)
}

/**
 * Spark sends factory and protocol to a task together, so both share what the task has measured of its files.
 */
class RollingFactory(format: String, inner: OutputWriterFactory, val protocol: DirectCommitProtocol, val target: Long,
    rowBytes: Double) extends OutputWriterFactory {
  /** Estimated bytes in a file for each row, and for each byte that rows take in memory. */
  private[parquetry] var (perRow, perByte) = if (rowBytes > 0) (rowBytes, 0.0) else (0.0, 0.5)

  override def getFileExtension(context: TaskAttemptContext): String = inner.getFileExtension(context)
  override def newInstance(path: String, schema: StructType, context: TaskAttemptContext): OutputWriter = {
    if (conf == null) conf = new RecordingConfiguration(context.getConfiguration)
    val recording = new TaskAttemptContextImpl(conf, context.getTaskAttemptID)
    new RollingWriter(path, this, inner.newInstance(_, schema, recording))
  }

  /** The task's configuration. */
  @transient private var conf: RecordingConfiguration = _

  /** Tells the protocol of a file that is closed, and returns its bytes if they were recorded. */
  private[datafiles] def closed(path: Path): Option[Long] = WrittenFooters.take(format, path, conf).map { case (file, footer) =>
    protocol.close(path, file.length, footer)
    file.length
  }
  private[datafiles] def lengthOf(path: Path): Long = path.getFileSystem(conf).getFileStatus(path).getLen
}

class RollingWriter(override val path: String, factory: RollingFactory, open: String => OutputWriter)
  extends OutputWriter {
  private var writer = open(path)
  private var inMemory = 0L
  private var estimate = 0.0

  override def write(row: InternalRow): Unit = {
    if (estimate >= factory.target) roll()
    val bytes = row match {
      case unsafe: UnsafeRow => unsafe.getSizeInBytes
      case other => 8 * other.numFields
    }
    inMemory += bytes
    estimate += factory.perRow + factory.perByte * bytes
    writer.write(row)
  }

  private def roll(): Unit = {
    val bytes = finish().getOrElse(factory.lengthOf(new Path(writer.path())))
    factory.perRow = 0
    factory.perByte = bytes.toDouble / inMemory
    inMemory = 0
    estimate = 0
    writer = open(factory.protocol.beginNext(path))
  }

  private def finish(): Option[Long] = {
    writer.close()
    factory.closed(new Path(writer.path()))
  }

  override def close(): Unit = finish()
}
