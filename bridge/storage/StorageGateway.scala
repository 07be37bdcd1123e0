package org.apache.spark.sql.parquetry.storage

import java.io.FileNotFoundException

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

/**
 * Answers the planner's requests for files that are not on a local disk. All locations of a call are of one
 * file system.
 */
object StorageGateway {
  /** Whether a location is in an object store, which has no directories. */
  def isObjectStore(location: String): Boolean = HadoopFiles.isObjectStore(new Path(location))

  /** Fails if Hadoop has no file system for a location. This reads no file. */
  def check(session: SparkSession, location: String): Unit = HadoopFiles.of(session, new Path(location))

  /**
   * Returns JSON for each location: `[whether it is a directory, bytes, time]`, null, or `[kind, message]` of
   * an error.
   */
  def statuses(session: SparkSession, locations: java.util.List[String]): String = {
    val paths = locations.asScala.map(new Path(_)).toSeq
    val files = HadoopFiles.of(session, paths.head)
    compact(JArray(HadoopFiles.parallel(paths)(Statuses.read(files, _)).toList))
  }

  /**
   * Returns the entries below a directory, at any depth if `recursive`; fails with FileNotFoundException if
   * it is missing.
   */
  def list(session: SparkSession, folder: String, recursive: Boolean): Listing = {
    val path = new Path(folder)
    new Listing(HadoopFiles.of(session, path), path, recursive)
  }

  /** Makes a directory and those above it; an object store needs none. */
  def makeDirectory(session: SparkSession, folder: String): Unit = {
    val path = new Path(folder)
    if (!HadoopFiles.isObjectStore(path)) HadoopFiles.of(session, path).mkdirs(path)
  }

  /** Deletes files, and returns the failures as JSON, each `[location, reason]`. */
  def delete(session: SparkSession, locations: java.util.List[String]): String = {
    val named = locations.asScala.map(location => new Path(location) -> location).toMap
    val failed =
      if (named.isEmpty) Nil
      else Deletions.delete(HadoopFiles.of(session, named.head._1), named.keys.toSeq, parallel = true)
    compact(JArray(failed.map { case (path, reason) =>
      JArray(List(JString(named.getOrElse(path, path.toString)), JString(reason)))
    }.toList))
  }

  /** Writes a small file, over one that may exist. `s3a` is not to look whether the name is taken. */
  def write(session: SparkSession, location: String, data: Array[Byte]): Unit = {
    val path = new Path(location)
    WholeFile.write(session, path, data, replaces = true) { file =>
      HadoopFiles.of(session, file).createFile(file).overwrite(true).opt("fs.s3a.create.performance", true)
        .build()
    }
  }

  /**
   * Writes a small file that must not exist. HDFS decides that itself. `s3a` does, too, where it knows
   * conditional writes (Hadoop 3.4.2); before, it looks whether the file exists, and then writes it.
   */
  def create(session: SparkSession, location: String, data: Array[Byte]): Unit = {
    val path = new Path(location)
    WholeFile.write(session, path, data, replaces = false) { file =>
      HadoopFiles.of(session, file).createFile(file).overwrite(false).recursive()
        .opt("fs.option.create.conditional.overwrite", true).build()
    }
  }

  /**
   * Deletes a directory if it is empty, and returns whether it is deleted. An object store has no
   * directories.
   */
  def deleteEmptyDirectory(session: SparkSession, folder: String): Boolean = {
    val path = new Path(folder)
    !HadoopFiles.isObjectStore(path) && {
      val files = HadoopFiles.of(session, path)
      try files.delete(path, false) catch {
        case _: FileNotFoundException => true
        case _: java.io.IOException if files.listStatusIterator(path).hasNext => false
      }
    }
  }

  /**
   * Returns the unfinished multipart uploads below a directory, as JSON; see [[UnfinishedUploads.below]]. A
   * file system that has none is not asked.
   */
  def uploads(session: SparkSession, folder: String): String = {
    val path = new Path(folder)
    compact(UnfinishedUploads.below(HadoopFiles.of(session, path), path))
  }

  /**
   * Ends multipart uploads, and returns JSON for each: null, or the reason of the failure.
   *
   * @param root scheme and authority of the file system.
   * @param keys of the uploads' objects.
   * @param ids of the uploads, in the same order.
   */
  def endUploads(
      session: SparkSession,
      root: String,
      keys: java.util.List[String],
      ids: java.util.List[String]): String = {
    val files = HadoopFiles.of(session, new Path(s"$root/"))
    val failures = HadoopFiles.parallel(keys.asScala.zip(ids.asScala).toSeq) { case (key, id) =>
      UnfinishedUploads.end(files, key, id)
    }
    compact(JArray(failures.map(_.fold[JValue](JNull)(JString(_))).toList))
  }

  /** Opens a file, to be read by ranges. */
  def open(session: SparkSession, location: String): OpenFile = {
    val path = new Path(location)
    val files = HadoopFiles.of(session, path)
    new OpenFile(files, files.getFileStatus(path))
  }

  /** Reads the last bytes of files. */
  def tails(session: SparkSession, locations: java.util.List[String], bytes: Int): FileTails =
    new FileTails(session, locations.asScala.map(new Path(_)).toSeq, bytes)
}
