package org.apache.spark.sql.parquetry.datafiles

import java.io.IOException
import java.nio.file.Files

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{LocalFileSystem, Path}
import org.apache.spark.sql.parquetry.storage.Deletions

/** Deletes files that no commit will name. */
object UncommittedFiles {
  def delete(location: Path, paths: Iterable[Path], conf: Configuration): Seq[String] = {
    val failed = paths.toSeq.groupBy(path => (path.toUri.getScheme, path.toUri.getAuthority)).values.flatMap { some =>
      try Deletions.delete(some.head.getFileSystem(conf), some, parallel = false).map { case (path, reason) => s"$path: $reason" }
      catch { case NonFatal(e) => some.map(path => s"$path: $e") }
    }.toSeq
    paths.map(_.getParent).toSet[Path].foreach(prune(location, _, conf))
    failed
  }

  /**
   * Removes empty directories, from `directory` upwards. It does so only on the local file system, which
   * refuses to remove a directory that another writer has just used. Symbolic links stay: a link is removed
   * even if its directory has files.
   */
  private def prune(location: Path, directory: Path, conf: Configuration): Unit =
    directory.getFileSystem(conf) match {
      case local: LocalFileSystem =>
        val root = local.makeQualified(location)
        var at = local.makeQualified(directory)
        try while (at != root && at.toString.startsWith(root.toString + "/")) {
          val path = local.pathToFile(at).toPath
          if (Files.isSymbolicLink(path)) return
          Files.delete(path)
          at = at.getParent
        } catch { case _: IOException => () }
      case _ => ()
    }
}
