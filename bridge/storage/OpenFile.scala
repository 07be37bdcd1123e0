package org.apache.spark.sql.parquetry.storage

import org.apache.hadoop.fs.{FileStatus, FileSystem}
import org.apache.hadoop.fs.Options.OpenFileOptions

/** A file that is read by ranges. The caller has its status, which saves a request. */
class OpenFile private[storage] (files: FileSystem, status: FileStatus) extends AutoCloseable {
  private val stream = files.openFile(status.getPath)
    .opt(OpenFileOptions.FS_OPTION_OPENFILE_READ_POLICY, OpenFileOptions.FS_OPTION_OPENFILE_READ_POLICY_RANDOM)
    .withFileStatus(status)
    .build().get()

  def length: Long = status.getLen

  /** Returns bytes from a position on: fewer only where the file ends. */
  def read(position: Long, bytes: Int): Array[Byte] = {
    val buffer = new Array[Byte](bytes.toLong.min(length - position).max(0L).toInt)
    if (buffer.nonEmpty) stream.readFully(position, buffer)
    buffer
  }

  override def close(): Unit = stream.close()
}
