package org.apache.spark.sql.parquetry.datafiles

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.json4s.{Reader => _, _}
import org.json4s.jackson.JsonMethods.compact

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.orc.{Reader, _}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.parquetry.storage.ManyFiles

/** Reads ORC footers, since PyArrow does not give the column statistics of ORC files. */
object OrcStatistics {
  /**
   * Returns JSON of one entry a path, in order: rows, bytes and statistics of top-level columns, or the
   * error.
   */
  def read(session: SparkSession, paths: java.util.List[String]): String =
    compact(JArray(ManyFiles.read(session, paths.asScala.map(new Path(_)).toSeq)(readOne).toList))

  private def readOne(path: Path, conf: Configuration): JValue = try {
    val status = path.getFileSystem(conf).getFileStatus(path)
    val reader = OrcFile.createReader(path, OrcFile.readerOptions(conf).maxLength(status.getLen))
    try {
      val file = List("path" -> JString(path.toString), "bytes" -> JInt(status.getLen), "modified" -> JInt(status.getModificationTime))
      JObject(file ++ facts(reader).obj)
    } finally reader.close()
  } catch {
    case NonFatal(e) => JObject("path" -> JString(path.toString), "error" -> JString(String.valueOf(e.getMessage)),
      "missing" -> JBool(e.isInstanceOf[java.io.FileNotFoundException]))
  }

  /** The rows of a file, and the statistics of its top-level columns. */
  def facts(reader: Reader): JObject = {
    val schema = reader.getSchema
    val statistics = reader.getStatistics
    val columns = schema.getFieldNames.asScala.zip(schema.getChildren.asScala).toList.map { case (name, child) =>
      name -> column(child, statistics(child.getId), reader.getNumberOfRows)
    }
    JObject("rows" -> JInt(reader.getNumberOfRows), "columns" -> JObject(columns))
  }

  private def column(t: TypeDescription, s: ColumnStatistics, rows: Long): JValue = {
    val (min, max): (Any, Any) = s match {
      case i: IntegerColumnStatistics if i.getNumberOfValues > 0 => (i.getMinimum, i.getMaximum)
      case d: DoubleColumnStatistics if d.getNumberOfValues > 0 => (d.getMinimum, d.getMaximum)
      case c: StringColumnStatistics if c.getNumberOfValues > 0 => (c.getLowerBound, c.getUpperBound)
      case d: DecimalColumnStatistics if d.getNumberOfValues > 0 => (d.getMinimum, d.getMaximum)
      case d: DateColumnStatistics if d.getNumberOfValues > 0 => (d.getMinimumDayOfEpoch, d.getMaximumDayOfEpoch)
      // what a clock on the wall showed, as if it were UTC: the only form that is the same in every JVM
      case t: TimestampColumnStatistics if t.getNumberOfValues > 0 && t.getMinimumUTC != null =>
        (t.getMinimumUTC.getTime * 1000, t.getMaximumUTC.getTime * 1000)
      case b: BooleanColumnStatistics if b.getNumberOfValues > 0 => (b.getFalseCount == 0, b.getTrueCount > 0)
      case _ => (null, null)
    }
    val exact = s match {
      case c: StringColumnStatistics => c.getMinimum != null && c.getMaximum != null
      case _ => true
    }
    def shown(v: Any): JValue = if (v == null) JNull else JString(v.toString)
    JObject("size" -> (if (s.getBytesOnDisk > 0) JInt(s.getBytesOnDisk) else JNull),
      "nulls" -> JInt(rows - s.getNumberOfValues), "min" -> shown(min), "max" -> shown(max),
      "exact" -> JBool(exact), "type" -> JString(t.toString),
      // the bounds ignore NaN; the sum does not
      "sum" -> (s match { case d: DoubleColumnStatistics => JString(d.getSum.toString); case _ => JNull }))
  }
}
