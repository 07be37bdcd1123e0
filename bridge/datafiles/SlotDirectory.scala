package org.apache.spark.sql.parquetry.datafiles

import org.json4s._
import org.json4s.jackson.JsonMethods.parse

import org.apache.hadoop.fs.Path

/**
 * The directory of consecutive slots, numbered from `first`.
 *
 * @param directory of their files: relative to the partition, or absolute
 * @param bucketed whether each slot is a bucket
 */
case class SlotDirectory(first: Long, directory: String, bucketed: Boolean) {
  /**
   * A file's path. Its name has the bucket twice: at the beginning as in Hive, and at the end as in Spark.
   */
  def path(partition: Path, slot: Long, name: String, suffix: String): Path = {
    val folder = if (directory.isEmpty) partition else new Path(partition, directory)
    val bucket = slot - first
    new Path(folder, if (bucketed) f"$bucket%06d_0_${name}_$bucket%05d.c000$suffix" else s"$name$suffix")
  }
}

/**
 * The locations of a table's partitions.
 *
 * @param location of the table
 * @param elsewhere the locations of partitions that are not at their default directories, by these
 *   directories
 */
case class Folders(location: String, elsewhere: Map[String, String]) {
  def root: Path = new Path(location)
  def apply(directory: String): Path = elsewhere.get(directory).map(new Path(_))
    .getOrElse(if (directory.isEmpty) root else new Path(root, directory))
}

object SlotDirectory {
  def read(json: String): Array[SlotDirectory] = {
    implicit val formats: Formats = DefaultFormats
    parse(json).extract[Seq[SlotDirectory]].toArray
  }

  /** The entry of a slot: the last whose first slot is not greater. */
  def find(directories: Array[SlotDirectory], slot: Long): SlotDirectory = {
    var (low, high) = (0, directories.length - 1)
    while (low < high) {
      val middle = (low + high + 1) >>> 1
      if (directories(middle).first <= slot) low = middle else high = middle - 1
    }
    directories(low)
  }
}
