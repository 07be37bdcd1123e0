package org.apache.spark.sql.parquetry.storage

import java.util.UUID

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.fs.{Abortable, FileContext, FSDataOutputStream}
import org.apache.hadoop.fs.{Options, Path, UnsupportedFileSystemException}
import org.apache.spark.sql.SparkSession

/**
 * Writes small files that are whole or not there, also if a writer dies or a disk is full.
 *
 * An object store shows a file when its upload ends. Elsewhere the file is written under another name and
 * then renamed. The namenode of HDFS does that in one step: over an existing file, or only if there is none.
 */
private[storage] object WholeFile {
  /**
   * Writes a file. One that exists is replaced, or is an error.
   *
   * @param stream begins the file directly, in an object store
   */
  def write(
      session: SparkSession, path: Path, data: Array[Byte], replaces: Boolean)(
      stream: Path => FSDataOutputStream): Unit =
    if (HadoopFiles.isObjectStore(path)) fill(stream(path), data)
    else context(session, path) match {
      case None => fill(stream(path), data)
      case Some(files) => rename(files, stream, path, data, replaces)
    }

  private def context(session: SparkSession, path: Path): Option[FileContext] =
    try Some(FileContext.getFileContext(path.toUri, session.sessionState.newHadoopConf()))
    catch { case _: UnsupportedFileSystemException => None }

  private def rename(
      files: FileContext,
      stream: Path => FSDataOutputStream,
      path: Path,
      data: Array[Byte],
      replaces: Boolean): Unit = {
    val temporary = path.suffix(s".${UUID.randomUUID().toString.replace("-", "")}")
    try {
      fill(stream(temporary), data)
      files.rename(temporary, path, if (replaces) Options.Rename.OVERWRITE else Options.Rename.NONE)
    } catch {
      case NonFatal(error) =>
        Try(files.delete(temporary, false))
        throw error
    }
  }

  /** Writes all bytes and closes the file. After a failure an upload is given up, as closing would end it. */
  private def fill(out: FSDataOutputStream, data: Array[Byte]): Unit = {
    try out.write(data)
    catch {
      case NonFatal(error) =>
        Try(out.getWrappedStream match {
          case upload: Abortable => upload.abort()
          case _ => out.close()
        })
        throw error
    }
    out.close()
  }
}
