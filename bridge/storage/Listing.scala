package org.apache.spark.sql.parquetry.storage

import java.io.FileNotFoundException

import scala.collection.mutable

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.hadoop.fs.{FileStatus, FileSystem, Path, RemoteIterator}

/**
 * The entries below a directory, handed out page by page, so that a million of them are never one text.
 *
 * An object store lists all objects below a directory with few requests, each for a thousand objects. It
 * lists no directories. Other file systems list each directory by itself. A directory comes before its
 * entries.
 */
class Listing private[storage] (files: FileSystem, folder: Path, recursive: Boolean) {
  private val root = files.makeQualified(folder).toUri.getPath.stripSuffix("/")
  private val entries: Iterator[FileStatus] =
    if (recursive && HadoopFiles.isObjectStore(folder)) Listing.iterator(files.listFiles(folder, true)) else walk()

  /**
   * Return the next entries as JSON, each `[path below the directory, whether it is one, bytes, time]`; none
   * at the end.
   */
  def page(size: Int): String = {
    val taken = mutable.ListBuffer.empty[JValue]
    while (taken.size < size && entries.hasNext) {
      val entry = entries.next()
      val path = entry.getPath.toUri.getPath.stripPrefix(root).stripPrefix("/")
      if (path.nonEmpty) taken += JArray(JString(path) :: Statuses.facts(entry))
    }
    compact(JArray(taken.toList))
  }

  private def walk(): Iterator[FileStatus] = {
    val first = Listing.iterator(files.listStatusIterator(folder)) // which fails now if the directory is not there
    def below(entry: FileStatus): Iterator[FileStatus] =
      if (recursive && entry.isDirectory)
        Iterator.single(entry) ++ Listing.ifThere(files, entry.getPath).flatMap(below)
      else Iterator.single(entry)
    first.flatMap(below)
  }
}

private object Listing {
  /** The entries of a directory that was there a moment ago; none if somebody has deleted it since. */
  def ifThere(files: FileSystem, folder: Path): Iterator[FileStatus] =
    try iterator(files.listStatusIterator(folder)) catch { case _: FileNotFoundException => Iterator.empty }

  def iterator[A <: FileStatus](entries: RemoteIterator[A]): Iterator[FileStatus] = new Iterator[FileStatus] {
    override def hasNext: Boolean = entries.hasNext
    override def next(): FileStatus = entries.next()
  }
}
