package org.apache.spark.sql.parquetry.readers

import org.apache.spark.paths.SparkPath

/** The paths of files in a folder as Spark has them: the same as `fromPathString`, which takes 20 microseconds for each. */
class FolderPaths(folder: String) {
  private val isPlain = FolderPaths.plain.matcher(folder).matches()

  def file(name: String): SparkPath = {
    val path = folder + "/" + name
    if (isPlain && FolderPaths.isPlain(name)) SparkPath.fromUrlString(path) else SparkPath.fromPathString(path)
  }
}

object FolderPaths {
  // What Hadoop's `Path` leaves as it is: no dots or slashes to resolve, nothing to encode.
  private val plain = java.util.regex.Pattern.compile(
    "([a-z][a-z0-9+]*:(//[A-Za-z0-9.:-]*)?)?(/[A-Za-z0-9_=][A-Za-z0-9._=-]*)+")

  private def isPlain(name: String): Boolean =
    name.nonEmpty && name.charAt(0) != '.' && name.charAt(0) != '-' && name.forall { c =>
      (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '=' || c == '.' || c == '-'
    }
}
