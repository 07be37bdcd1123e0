package org.apache.spark.sql.parquetry.storage

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.fs.{BulkDelete, FileSystem, Path}

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
      val bulk = files.createBulkDelete(files.makeQualified(new Path("/")))
      try {
        val pages = paths.grouped(bulk.pageSize()).toSeq
        // a bulk delete of one file is one request to S3; a delete of one file is four: it keeps the folder
        val remove: Seq[Path] => Seq[(Path, String)] =
          if (bulk.pageSize() > 1 || HadoopFiles.isObjectStore(paths.head)) deletePage(files, bulk, _)
          else page => page.flatMap(path => deleteOne(files, path))
        if (bulk.pageSize() < 2 && parallel) HadoopFiles.parallel(pages)(remove).flatten else pages.flatMap(remove)
      } finally bulk.close()
    }

  private def deletePage(files: FileSystem, bulk: BulkDelete, page: Seq[Path]): Seq[(Path, String)] = {
    val qualified = page.map(path => files.makeQualified(path) -> path).toMap
    try bulk.bulkDelete(qualified.keys.toSeq.asJava).asScala.map(failed =>
      qualified.getOrElse(failed.getKey, failed.getKey) -> failed.getValue).toSeq
    catch { case NonFatal(error) => page.map(_ -> String.valueOf(error.getMessage)) }
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
