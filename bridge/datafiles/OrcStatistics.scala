package org.apache.spark.sql.parquetry.datafiles

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.json4s.{Reader => _, _}
import org.json4s.jackson.JsonMethods.compact

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.orc.{Reader, _}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.parquetry.hash.OrcTimes
import org.apache.spark.sql.parquetry.storage.ManyFiles

/**
 * Reads ORC footers, since PyArrow does not give the column statistics of ORC files. It hands over what a
 * footer states; the planner decides what of it is believed.
 */
object OrcStatistics {
  /** A column's attribute. Spark marks with it a number that means a time or an interval. */
  private val SparkType = "spark.sql.catalyst.type"

  /**
   * Returns JSON of one entry a path, in order: rows, bytes and statistics of columns and of the fields of
   * structs, or the error.
   */
  def read(session: SparkSession, paths: java.util.List[String]): String =
    compact(JArray(ManyFiles.read(session, paths.asScala.map(new Path(_)).toSeq)(readOne).toList))

  private def readOne(path: Path, conf: Configuration): JValue = try {
    OrcTimes.setCalendar(conf)
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

  /**
   * The writer of a file, its rows, and the statistics of its columns and of the fields of structs. Of a file
   * with encrypted columns none are stated: readers without the key see other values.
   */
  def facts(reader: Reader): JObject = {
    val schema = reader.getSchema
    val stated = reader.getOrcProtoFileStatistics
    // Some files have no statistics, fewer than columns, or some that cannot be decoded.
    lazy val statistics = if (reader.getEncryptionVariants.nonEmpty) None else Try(reader.getStatistics).toOption
    lazy val stripes = stripeValues(reader)
    val version = reader.getWriterVersion
    // Columns or fields of one name cannot be distinguished.
    def within(struct: TypeDescription): List[(String, JObject)] = {
      val all = struct.getFieldNames.asScala.zip(struct.getChildren.asScala).toList
      val times = all.groupBy(_._1).view.mapValues(_.size).toMap
      all.distinctBy(_._1).map { case (name, child) =>
        val known = statistics.filter(_ => child.getId < stated.size && times(name) == 1).toList.flatMap(decoded =>
          column(stated.get(child.getId), decoded(child.getId)) ++ stripes(child.getId).map("stripe_values" -> JInt(_)))
        val fields = if (child.getCategory == TypeDescription.Category.STRUCT && times(name) == 1) List[JField]("fields" -> JObject(within(child))) else Nil
        name -> JObject(("type" -> JString(typeOf(child))) :: known ::: fields)
      }
    }
    val columns = within(schema)
    JObject("rows" -> JInt(reader.getNumberOfRows),
      "stripe_rows" -> JInt(reader.getStripes.asScala.map(_.getNumberOfRows).sum),
      "writer" -> JString(version.getWriterImplementation.name), "writer_version" -> JInt(version.getId),
      "file_version" -> JString(reader.getFileVersion.getName), "field_ids" -> JBool(FieldNumbers.hasIds(schema)), "columns" -> JObject(columns))
  }

  private def typeOf(t: TypeDescription): String = t.getCategory match {
    case TypeDescription.Category.LONG | TypeDescription.Category.INT => Option(t.getAttributeValue(SparkType)).getOrElse(t.toString)
    case _ => t.toString
  }

  /** The numbers of values of a column that the stripes state, in sum, or None if one does not state it. */
  private def stripeValues(reader: Reader): Int => Option[Long] = {
    val stripes = Try(reader.getOrcProtoStripeStatistics.asScala.map(_.getColStatsList).toList).getOrElse(Nil)
    id => Option.when(stripes.nonEmpty && stripes.forall(s => s.size > id && s.get(id).hasNumberOfValues))(
      stripes.map(_.get(id).getNumberOfValues).sum)
  }

  /** All statistics of ORC are optional: a field that the file does not state is left out. */
  private def column(stated: OrcProto.ColumnStatistics, s: ColumnStatistics): List[JField] = {
    val bounds: Option[(Any, Any)] = s match {
      case i: IntegerColumnStatistics if stated.getIntStatistics.hasMinimum && stated.getIntStatistics.hasMaximum =>
        Some((i.getMinimum, i.getMaximum))
      case d: DoubleColumnStatistics if stated.getDoubleStatistics.hasMinimum && stated.getDoubleStatistics.hasMaximum =>
        Some((d.getMinimum, d.getMaximum))
      case c: StringColumnStatistics if stated.hasStringStatistics && c.getLowerBound != null && c.getUpperBound != null =>
        Some((c.getLowerBound, c.getUpperBound))
      case d: DecimalColumnStatistics if stated.getDecimalStatistics.hasMinimum && stated.getDecimalStatistics.hasMaximum =>
        Some((d.getMinimum, d.getMaximum))
      case d: DateColumnStatistics if stated.getDateStatistics.hasMinimum && stated.getDateStatistics.hasMaximum =>
        Some((d.getMinimumDayOfEpoch, d.getMaximumDayOfEpoch))
      // what a clock on the wall showed, as if it were UTC: the only form that is the same in every JVM
      case t: TimestampColumnStatistics if t.getMinimumUTC != null && t.getMaximumUTC != null =>
        Some((t.getMinimumUTC.getTime * 1000, t.getMaximumUTC.getTime * 1000))
      case b: BooleanColumnStatistics if stated.getBucketStatistics.getCountCount > 0 =>
        Some((b.getFalseCount == 0, b.getTrueCount > 0))
      case _ => None
    }
    val exact = s match {
      case c: StringColumnStatistics => c.getMinimum != null && c.getMaximum != null
      case _ => true
    }
    def shown(v: Any): JValue = if (v == null) JNull else JString(v.toString)
    List[JField](
      "size" -> (if (s.getBytesOnDisk > 0) JInt(s.getBytesOnDisk) else JNull),
      "values" -> (if (stated.hasNumberOfValues) JInt(stated.getNumberOfValues) else JNull),
      "has_null" -> (if (stated.hasHasNull) JBool(stated.getHasNull) else JNull),
      "min" -> bounds.fold[JValue](JNull)(ends => shown(ends._1)),
      "max" -> bounds.fold[JValue](JNull)(ends => shown(ends._2)),
      "exact" -> JBool(exact),
      // the bounds ignore NaN; the sum does not
      "sum" -> (s match {
        case d: DoubleColumnStatistics if stated.getDoubleStatistics.hasSum => JString(d.getSum.toString)
        case _ => JNull
      }))
  }
}
