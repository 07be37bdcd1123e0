package org.apache.spark.sql.parquetry.catalog

import java.io.IOException
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.channels.FileChannel
import java.nio.file.{Files, InvalidPathException, Path, StandardOpenOption}
import java.nio.file.attribute.{BasicFileAttributes, FileTime}

/**
 * A mark of a metastore's state, equal only while no process has written: the header of SQLite's index of its
 * write-ahead log. A commit is visible from the moment that this header has changed, and all readers look
 * there. So a session whose planner has read a table since the mark was taken need not ask again.
 *
 * The header stands in the file `…-shm` twice. It has a counter of commits, the number of frames in the log,
 * random salts of the log, and checksums over its frames. If its copies differ, a commit is under way, and
 * there is no mark. There is none, either, if no process has the metastore open, or if the store is no file
 * of this machine.
 *
 * An empty log has an empty header, and the last process to close a metastore empties its log into the file.
 * So the mark has the file's time, too.
 *
 * @param file the identity of the metastore's file: another one may have taken its path
 */
case class StoreMark private (file: AnyRef, size: Long, modified: FileTime, header: ByteBuffer)

object StoreMark {
  private val HeaderBytes = 48
  private val IsComplete = 12
  /** The only version of the format that there has been. */
  private val Version = 3007000

  /** @param path of the metastore's file */
  def read(path: String): Option[StoreMark] =
    try {
      val file = Files.readAttributes(Path.of(path), classOf[BasicFileAttributes])
      val bytes = ByteBuffer.allocate(2 * HeaderBytes).order(ByteOrder.nativeOrder())
      val index = FileChannel.open(Path.of(path + "-shm"), StandardOpenOption.READ)
      try while (bytes.hasRemaining && index.read(bytes) > 0) {} finally index.close()
      val (first, second) = (bytes.slice(0, HeaderBytes), bytes.slice(HeaderBytes, HeaderBytes))
      Option.when(file.fileKey() != null && !bytes.hasRemaining && bytes.getInt(0) == Version && first.get(IsComplete) == 1 && first == second)(
        StoreMark(file.fileKey(), file.size(), file.lastModifiedTime(), first))
    } catch { case _: IOException | _: InvalidPathException | _: SecurityException | _: UnsupportedOperationException => None }
}
