package org.apache.spark.sql.parquetry.readers

import java.io.{EOFException, FileNotFoundException}
import java.util.zip.ZipException

import scala.util.control.NonFatal

import org.apache.hadoop.fs.ChecksumException
import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.parquetry.protocol.Causes
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Spark's reader factory, with errors for missing and broken files that name the file, the table and the
 * remedy.
 */
class ErrorNamingReaderFactory(inner: PartitionReaderFactory, table: String, remedy: String) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = inner.supportColumnarReads(partition)
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    named(partition)(new NamingReader(inner.createReader(partition), partition))
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    named(partition)(new NamingReader(inner.createColumnarReader(partition), partition))

  private class NamingReader[T](reader: PartitionReader[T], partition: InputPartition) extends PartitionReader[T] {
    override def next(): Boolean = named(partition)(reader.next())
    override def get(): T = reader.get()
    override def close(): Unit = reader.close()
    override def currentMetricsValues(): Array[CustomTaskMetric] = reader.currentMetricsValues()
  }

  private def named[R](partition: InputPartition)(body: => R): R = try body catch {
    case e: Throwable if NonFatal(e) && Causes.of(e).exists(_.isInstanceOf[FileNotFoundException]) => throw new SparkException(
      s"[PARQUETRY_FILE_MISSING] A data file of table $table has vanished: ${reason(e)}. Put it back, or make the " +
        s"table forget it with $remedy. CALL system.fsck says whether another program has overwritten it. Files asked for: ${files(partition)}", e)
    case e: Throwable if NonFatal(e) && Causes.of(e).exists(lacksCodec) => throw new SparkException(
      s"[PARQUETRY_CODEC_MISSING] A data file of table $table is compressed by a codec that this session has not: ${reason(e)}. Add " +
        s"the jar of the codec to spark.jars, or have the file written with another one. Files asked for: ${files(partition)}", e)
    case e: Throwable if NonFatal(e) && broken(e) => throw new SparkException(
      s"[PARQUETRY_FILE_CORRUPT] A data file of table $table cannot be read: ${reason(e)}. Restore it from a copy, or " +
        s"remove it and $remedy. Files asked for: ${files(partition)}", e)
  }
  private def lacksCodec(c: Throwable): Boolean =
    (c.isInstanceOf[ClassNotFoundException] || c.getClass.getName.endsWith("BadConfigurationException")) &&
      String.valueOf(c.getMessage).contains("Codec")
  /**
   * Whether the bytes are at fault, and not, say, rights, the network, or a type that Spark does not convert.
   */
  private def broken(e: Throwable): Boolean = Causes.of(e).exists { c =>
    val (name, text) = (c.getClass.getName, String.valueOf(c.getMessage))
    c.isInstanceOf[ChecksumException] || c.isInstanceOf[EOFException] || c.isInstanceOf[ZipException] ||
      Seq("org.apache.parquet.", "org.apache.orc.", "org.xerial.snappy.", "com.github.luben.zstd.", "io.airlift.compress.")
        .exists(name.startsWith) || name.contains("InvalidProtocolBufferException") ||
      text.contains("is not a Parquet file") || text.contains("Malformed ORC file") || text.contains("corrupt")
  }
  private def reason(e: Throwable): String = Causes.of(e).toSeq.last.getMessage
  private def files(partition: InputPartition): String = partition match {
    case f: FilePartition => f.files.take(3).map(_.urlEncodedPath).mkString(", ") + (if (f.files.length > 3) ", …" else "")
    case other => other.toString
  }
}

object ErrorNamingReaderFactory {
  def wrap(inner: PartitionReaderFactory, table: ParquetryTable): PartitionReaderFactory =
    new ErrorNamingReaderFactory(inner, table.name(), table.sync)
}
