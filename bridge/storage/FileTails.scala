package org.apache.spark.sql.parquetry.storage

import java.io.ByteArrayOutputStream
import java.nio.{ByteBuffer, ByteOrder}

import scala.util.control.NonFatal

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

/** The last bytes of many files, where Parquet has its footers, with the files' lengths and times. */
class FileTails private[storage] (session: SparkSession, paths: Seq[Path], bytes: Int) {
  private val read = FileTails.read(session, paths, bytes)

  /**
   * JSON for some of the files: `[whether it is a directory, bytes, time, bytes of its tail]`, or
   * `[kind, message]` of an error.
   */
  def facts(from: Int, until: Int): String = compact(JArray(read.slice(from, until).map {
    case Right((facts, tail)) => JArray(facts :+ JInt(tail.length))
    case Left(error) => error
  }.toList))

  /** The tails of these files, one behind another. */
  def tails(from: Int, until: Int): Array[Byte] = {
    val joined = new ByteArrayOutputStream()
    read.slice(from, until).foreach(_.foreach { case (_, tail) => joined.write(tail) })
    joined.toByteArray
  }
}

private object FileTails {
  private val Ending = 8 // a Parquet file ends with the footer's length, in 4 bytes, and PAR1

  private def read(session: SparkSession, paths: Seq[Path], bytes: Int): Seq[Either[JValue, (List[JValue], Array[Byte])]] =
    ManyFiles.read(session, paths)(readOne(_, _, bytes))

  /** Reads a file's facts and its footer, or as many of its last bytes as it may read. An error is JSON. */
  private def readOne(path: Path, conf: Configuration, bytes: Int): Either[JValue, (List[JValue], Array[Byte])] =
    try {
      val files = path.getFileSystem(conf)
      val status = files.getFileStatus(path)
      val file = new OpenFile(files, status)
      try Right((Statuses.facts(status), footer(file.read((status.getLen - bytes).max(0L), bytes)))) finally file.close()
    } catch { case NonFatal(error) => Left(Statuses.failure(error)) }

  private def footer(tail: Array[Byte]): Array[Byte] =
    if (tail.length < Ending) tail
    else {
      val size = ByteBuffer.wrap(tail).order(ByteOrder.LITTLE_ENDIAN).getInt(tail.length - Ending).toLong + Ending
      if (size < Ending || size > tail.length) tail else tail.takeRight(size.toInt)
    }
}
