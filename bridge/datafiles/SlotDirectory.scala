package org.apache.spark.sql.parquetry.datafiles

import org.json4s._
import org.json4s.jackson.JsonMethods.parse

import org.apache.hadoop.fs.Path

/** Slots with numbers from `first` on: the directory of their files, below a partition or absolute, and whether each is a bucket. */
case class SlotDirectory(first: Long, directory: String, bucketed: Boolean) {
  /** Where a file is. The bucket is in its name as Hive has it, at the beginning, and as Spark has it, at the end. */
  def path(partition: Path, slot: Long, name: String, suffix: String): Path = {
    val folder = if (directory.isEmpty) partition else new Path(partition, directory)
    val bucket = slot - first
    new Path(folder, if (bucketed) f"$bucket%06d_0_${name}_$bucket%05d.c000$suffix" else s"$name$suffix")
  }
}

/**
 * Where the partitions of a table are.
 *
 * @param location of the table
 * @param elsewhere of those that lie elsewhere than in their directories below it, by these
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

  /** The place of a slot: the last that does not begin behind it. */
  def find(directories: Array[SlotDirectory], slot: Long): SlotDirectory = {
    var (low, high) = (0, directories.length - 1)
    while (low < high) {
      val middle = (low + high + 1) >>> 1
      if (directories(middle).first <= slot) low = middle else high = middle - 1
    }
    directories(low)
  }
}
