package org.apache.spark.sql.parquetry.datafiles

import java.io.ByteArrayOutputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays
import java.util.zip.DeflaterOutputStream

import scala.util.control.NonFatal

import org.json4s.jackson.JsonMethods.compact

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.orc.OrcFile
import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.internal.config.MAX_RESULT_SIZE

/**
 * The footers of written files, as the writing task has them, so that no written file is opened again.
 *
 * For Parquet the planner gets the footer itself, for ORC, JSON of the statistics. Both are compressed, and
 * travel with the task's commit message.
 */
private[datafiles] object WrittenFooters extends Logging {
  /** The part of `spark.driver.maxResultSize` that the footers of a write may take. */
  private val Share = 16
  private val Ending = 8 // a Parquet file ends with the footer's length, in 4 bytes, and PAR1

  /** The bytes of footers that a task may send. The planner reads further footers itself. */
  def allowance(): Long = Option(TaskContext.get()).fold(Long.MaxValue) { task =>
    val all = Option(SparkEnv.get.conf.get(MAX_RESULT_SIZE)).filter(_ > 0).getOrElse(1L << 30)
    all / Share / task.numPartitions().max(1)
  }

  /**
   * Takes a closed file from the record, and its footer, if the record has the whole of it. None if the file
   * was not recorded.
   */
  def take(format: String, path: Path, conf: RecordingConfiguration): Option[(RecordedFile, Option[Array[Byte]])] =
    try conf.recorded(path).map(file => (file, footer(format, file, conf))) finally conf.forget(path)

  private def footer(format: String, file: RecordedFile, conf: Configuration): Option[Array[Byte]] =
    try (if (format == "orc") orc(file, conf) else parquet(file)).map(compressed) catch {
      case NonFatal(error) =>
        logWarning(s"The footer of ${file.path} could not be taken from its writer. It will be read.", error)
        None
    }

  private def parquet(file: RecordedFile): Option[Array[Byte]] = {
    val tail = file.tail
    Option.when(tail.length >= Ending && new String(tail, tail.length - 4, 4, UTF_8) == "PAR1") { // PARE: encrypted
      ByteBuffer.wrap(tail).order(ByteOrder.LITTLE_ENDIAN).getInt(tail.length - Ending) + Ending
    }.filter(_ <= tail.length).map(size => Arrays.copyOfRange(tail, tail.length - size, tail.length))
  }

  private def orc(file: RecordedFile, conf: Configuration): Option[Array[Byte]] = {
    val reader = OrcFile.createReader(file.path, OrcFile.readerOptions(conf).maxLength(file.length))
    try Some(compact(OrcStatistics.facts(reader)).getBytes(UTF_8)) finally reader.close()
  }

  private def compressed(bytes: Array[Byte]): Array[Byte] = {
    val to = new ByteArrayOutputStream()
    val deflater = new DeflaterOutputStream(to)
    deflater.write(bytes)
    deflater.close()
    to.toByteArray
  }
}
