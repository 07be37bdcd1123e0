package org.apache.spark.sql.parquetry.storage

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileSystem, Path}

/** Deletes many files with few requests: S3 takes hundreds in one, HDFS takes them one by one. */
private[parquetry] object Deletions {
  /**
   * Deletes files of one file system, and returns the failures with their reasons. A missing file counts as
   * deleted.
   *
   * @param parallel whether other threads may help. The thread of a killed task cannot wait for them.
   */
  def delete(files: FileSystem, paths: Seq[Path], parallel: Boolean): Seq[(Path, String)] =
    if (paths.isEmpty) Nil
    else {
      val bulk = files.createBulkDelete(new Path(files.getUri.toString.stripSuffix("/") + "/"))
      try {
        val size = bulk.pageSize()
        if (size < 2 && parallel) HadoopFiles.parallel(paths)(path => deleteOne(files, path)).flatten
        else if (size < 2) paths.flatMap(path => deleteOne(files, path))
        else paths.grouped(size).flatMap { page =>
          val qualified = page.map(path => files.makeQualified(path) -> path).toMap
          try bulk.bulkDelete(qualified.keys.toSeq.asJava).asScala.map(failed =>
            qualified.getOrElse(failed.getKey, failed.getKey) -> failed.getValue).toSeq
          catch { case NonFatal(error) => page.map(_ -> String.valueOf(error.getMessage)) }
        }.toSeq
      } finally bulk.close()
    }

  private def deleteOne(files: FileSystem, path: Path): Option[(Path, String)] =
    try {
      files.delete(path, false)
      None
    } catch {
      case _: java.io.FileNotFoundException => None
      case NonFatal(error) => Some(path -> String.valueOf(error.getMessage))
    }
}
