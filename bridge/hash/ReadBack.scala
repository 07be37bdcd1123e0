package org.apache.spark.sql.parquetry.hash

import java.util.TimeZone

import org.apache.hadoop.conf.Configuration
import org.apache.orc.OrcConf
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator, ExprCode}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, ArrayData, GenericArrayData, MapData, RebaseDateTime}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/**
 * The calendar of a file's dates and timestamps, as a function from the value that is written to the value
 * that is read. Files of some formats and settings count early days by another calendar, which lacks some
 * days and times.
 *
 * Rows are put into buckets, directories and an order by the values that readers will see, so each value is
 * replaced by this one before that. A value that was read back is read back unchanged.
 */
sealed abstract class FileTimes extends Serializable {
  /** Writes a timestamp and reads it, once. */
  protected def throughFile(micros: Long): Long

  /** The calendar of Julius Caesar ended on 4 October 1582, and the day after was the 15th. */
  final def date(days: Int): Int =
    if (days >= FileTimes.FirstGregorianDay) days
    else RebaseDateTime.rebaseJulianToGregorianDays(RebaseDateTime.rebaseGregorianToJulianDays(days))

  final def timestamp(micros: Long): Long = {
    var last = micros
    var next = throughFile(micros)
    while (next != last) {
      last = next
      next = throughFile(last)
    }
    next
  }

  /** A function for values other than NULL of a type with dates or timestamps in it. */
  private[hash] final def of(t: DataType): Any => Any = t match {
    case DateType => value => date(value.asInstanceOf[Int])
    case TimestampType => value => timestamp(value.asInstanceOf[Long])
    case StructType(fields) =>
      val parts = fields.map(f => orNull(f.dataType))
      value => {
        val row = value.asInstanceOf[InternalRow]
        new GenericInternalRow(Array.tabulate[Any](fields.length)(i => parts(i)(row.get(i, fields(i).dataType))))
      }
    case ArrayType(element, _) =>
      val part = orNull(element)
      value => elements(value.asInstanceOf[ArrayData], element, part)
    case MapType(keys, values, _) =>
      val (key, item) = (orNull(keys), orNull(values))
      value => {
        val map = value.asInstanceOf[MapData]
        new ArrayBasedMapData(elements(map.keyArray(), keys, key), elements(map.valueArray(), values, item))
      }
    case _ => identity
  }

  private def orNull(t: DataType): Any => Any =
    if (!FileTimes.in(t)) identity
    else {
      val convert = of(t)
      value => if (value == null) null else convert(value)
    }

  private def elements(array: ArrayData, t: DataType, part: Any => Any): ArrayData =
    new GenericArrayData(Array.tabulate[Any](array.numElements())(i => part(array.get(i, t))))
}

/** ORC's calendar, in the JVM's time zone. Some times before 1970 are read as a second later (ORC-763). */
case object OrcTimes extends FileTimes {
  override protected def throughFile(micros: Long): Long =
    if (micros >= 0) micros
    else {
      val zone = TimeZone.getDefault
      val written = RebaseDateTime.rebaseGregorianToJulianMicros(zone, micros)
      val nanos = Math.floorMod(written, 1000000L) * 1000
      // the writer cuts milliseconds towards 1970, and the reader goes a second back if it sees that it must
      var millis = Math.floorDiv(written, 1000L) / 1000 * 1000 + nanos / 1000000
      if (millis < 0 && nanos > 999999) millis -= 1000
      RebaseDateTime.rebaseJulianToGregorianMicros(zone, millis * 1000 + nanos / 1000 % 1000)
    }

  /**
   * Has ORC's writers and readers keep to this calendar. Spark always gives the writer days of the Julian
   * calendar, and takes what the reader gives for such days. With the setting `orc.proleptic.gregorian`, the
   * writer takes them for other days, and the reader makes other days of them.
   */
  def setCalendar(conf: Configuration): Unit = calendar.foreach { case (name, value) => conf.set(name, value) }
  /** The settings for this calendar, which ORC's writers and readers follow. */
  val calendar: Map[String, String] =
    Seq(OrcConf.PROLEPTIC_GREGORIAN, OrcConf.PROLEPTIC_GREGORIAN_DEFAULT).map(_.getAttribute -> "false").toMap
}

/** Parquet's values after `spark.sql.parquet.datetimeRebaseModeInWrite` = `LEGACY`, in the session's zone. */
case class LegacyParquetTimes(zone: String) extends FileTimes {
  override protected def throughFile(micros: Long): Long =
    if (micros >= RebaseDateTime.lastSwitchGregorianTs) micros
    else RebaseDateTime.rebaseJulianToGregorianMicros(zone, RebaseDateTime.rebaseGregorianToJulianMicros(zone, micros))
}

object FileTimes {
  private final val FirstGregorianDay = -141427 // 1582-10-15

  /** The times of files that a session writes, or None if every value is read as it was written. */
  def of(format: String, conf: SQLConf): Option[FileTimes] = format match {
    case "orc" => Some(OrcTimes)
    case _ if conf.getConf(SQLConf.PARQUET_REBASE_MODE_IN_WRITE).toString.equalsIgnoreCase("LEGACY") =>
      Some(LegacyParquetTimes(conf.sessionLocalTimeZone))
    case _ => None
  }

  /** Whether values of a type have dates or timestamps in them. */
  def in(t: DataType): Boolean = t.existsRecursively(part => part == DateType || part == TimestampType)
}

/** The value that is read back of a value that is written; see `FileTimes`. */
case class ReadBack(child: Expression, times: FileTimes) extends UnaryExpression {
  override def dataType: DataType = child.dataType
  override def prettyName: String = "read_back"
  override protected def withNewChildInternal(newChild: Expression): ReadBack = copy(child = newChild)

  @transient private lazy val convert = times.of(dataType)
  override protected def nullSafeEval(value: Any): Any = convert(value)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val reference = ctx.addReferenceObj("readBack", this, classOf[ReadBack].getName)
    nullSafeCodeGen(ctx, ev, value => dataType match {
      case DateType => s"${ev.value} = $reference.times().date($value);"
      case TimestampType => s"${ev.value} = $reference.times().timestamp($value);"
      case other => s"${ev.value} = (${CodeGenerator.boxedType(other)}) $reference.nested($value);"
    })
  }

  /** The same for a nested value, as generated code calls it. */
  def nested(value: Any): Any = convert(value)
}

object ReadBack {
  /** A column as readers will see it. */
  def of(column: Expression, times: Option[FileTimes]): Expression =
    times.filter(_ => FileTimes.in(column.dataType)).fold(column)(ReadBack(column, _))
}
