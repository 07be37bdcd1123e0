package org.apache.spark.sql.parquetry.storage

import java.io.FileNotFoundException

import scala.util.control.NonFatal

import org.json4s._

import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.hadoop.security.AccessControlException

/** A file's or directory's status, and an error, as JSON. */
private[storage] object Statuses {
  /** Whether it is a directory, its bytes, and when it was changed, in milliseconds. */
  def facts(status: FileStatus): List[JValue] =
    List(JBool(status.isDirectory), JInt(status.getLen), JInt(status.getModificationTime))

  /** Returns the facts of a path, null for a missing one, or the kind and the message of an error. */
  def read(files: FileSystem, path: Path): JValue =
    try JArray(facts(files.getFileStatus(path))) catch {
      case _: FileNotFoundException => JNull
      case NonFatal(error) => failure(error)
    }

  def failure(error: Throwable): JValue = JArray(List(JString(kind(error)), JString(message(error))))

  private def kind(error: Throwable): String = error match {
    case _: FileNotFoundException => "missing"
    case _: AccessControlException | _: java.nio.file.AccessDeniedException => "denied"
    case _ => "failed"
  }

  /** The first line of an error's message; a remote exception has the server's stack below it. */
  private def message(error: Throwable): String = {
    val text = Option(error.getMessage).getOrElse("").linesIterator.nextOption().getOrElse("")
    if (text.isEmpty) error.getClass.getSimpleName else text
  }
}
