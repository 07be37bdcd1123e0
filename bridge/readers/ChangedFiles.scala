package org.apache.spark.sql.parquetry.readers

import java.io.FileNotFoundException
import java.time.Instant

import org.apache.spark.SparkException
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.util.SerializableConfiguration

/**
 * Refuses files that other writers have rewritten since the table took them in. Queries are planned, and
 * counts answered, by statistics of the old rows. The table's own files are never written twice, and are not
 * checked.
 *
 * @param own a part of the names of the table's own files, and of no others
 */
class ChangedFiles(own: String, table: String, remedy: String, conf: Broadcast[SerializableConfiguration]) extends BeforeReading {
  override def apply(partition: InputPartition): Unit = partition match {
    case files: FilePartition => files.files.filterNot(_.toPath.getName.contains(own)).foreach(refuse)
    case _ =>
  }

  private def refuse(file: PartitionedFile): Unit = {
    val path = file.toPath
    val now = try path.getFileSystem(conf.value.value).getFileStatus(path) catch {
      case _: FileNotFoundException => return // the reader raises it, unless it is set to ignore missing files
    }
    // some file systems give a single file's time in seconds, and times in a listing in milliseconds
    val (was, is) = (Math.floorDiv(file.modificationTime, 1000L), Math.floorDiv(now.getModificationTime, 1000L))
    if (now.getLen != file.fileSize || (file.modificationTime > 0 && was != is)) throw new SparkException(
      s"[PARQUETRY_FILE_CHANGED] The file $path was written anew since table $table took it in: it has ${now.getLen} bytes of " +
        s"${Instant.ofEpochSecond(is)}, and the table knows ${file.fileSize} bytes of ${Instant.ofEpochSecond(was)}. " +
        s"Take in its rows of now with $remedy.", null)
  }
}
