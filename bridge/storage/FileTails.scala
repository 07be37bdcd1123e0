package org.apache.spark.sql.parquetry.storage

import java.io.ByteArrayOutputStream

import scala.util.control.NonFatal

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.hadoop.fs.{FileSystem, Path}

/** The last bytes of many files, where Parquet has its footers, with the files' lengths and times. */
class FileTails private[storage] (files: FileSystem, paths: Seq[Path], bytes: Int) {
  private val read: Seq[Either[Throwable, (List[JValue], Array[Byte])]] = HadoopFiles.parallel(paths)(readOne)

  /**
   * JSON for each file: `[whether it is a directory, bytes, time, bytes of its tail]`, or `[kind, message]`
   * of an error.
   */
  def facts: String = compact(JArray(read.map {
    case Right((facts, tail)) => JArray(facts :+ JInt(tail.length))
    case Left(error) => Statuses.failure(error)
  }.toList))

  /** The tails, one behind another. */
  def tails: Array[Byte] = {
    val joined = new ByteArrayOutputStream()
    read.foreach(_.foreach { case (_, tail) => joined.write(tail) })
    joined.toByteArray
  }

  private def readOne(path: Path): Either[Throwable, (List[JValue], Array[Byte])] =
    try {
      val status = files.getFileStatus(path)
      val file = new OpenFile(files, status)
      try Right((Statuses.facts(status), file.read((status.getLen - bytes).max(0L), bytes))) finally file.close()
    } catch { case NonFatal(error) => Left(error) }
}
