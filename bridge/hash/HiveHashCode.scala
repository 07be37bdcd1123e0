package org.apache.spark.sql.parquetry.hash

import java.math.BigDecimal

import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String

/**
 * Hive's hash of values other than NULL, in one of its versions. The rules, with their quirks, are told where the planner has the
 * same: `hashing/hive_v1.py`, `hashing/hive_v2.py`. Generated code calls these methods by name.
 */
sealed trait HiveHashCode extends Serializable {
  def ofBoolean(value: Boolean): Int = if (value) 1 else 0
  def ofByte(value: Byte): Int = value
  def ofShort(value: Short): Int
  def ofInt(value: Int): Int
  def ofLong(value: Long): Int
  def ofFloat(value: Float): Int
  def ofDouble(value: Double): Int
  def ofString(value: UTF8String): Int
  def ofVarchar(value: UTF8String): Int
  def ofChar(value: UTF8String): Int
  def ofBinary(value: Array[Byte]): Int
  def ofDecimal(value: Decimal): Int
  /** Microseconds since the epoch. */
  def ofTimestamp(value: Long): Int
}

object HiveHashCode {
  def of(version: Int): HiveHashCode = if (version == 1) HiveHashCode1 else HiveHashCode2

  /** Without zeros at the end behind the point. */
  private[parquetry] def shortened(value: Decimal): BigDecimal = {
    val short = value.toJavaBigDecimal.stripTrailingZeros()
    if (short.scale() < 0) short.setScale(0) else short
  }

  /** How many bytes Hive leaves out at the end of a char, which Spark has filled up with blanks: these, and zeros among them. */
  private[parquetry] def blanks(value: UTF8String): Int = {
    var end = value.numBytes()
    if (end > 0 && value.getByte(end - 1) == ' ') {
      while (end > 0 && (value.getByte(end - 1) == ' ' || value.getByte(end - 1) == 0)) end -= 1
    }
    value.numBytes() - end
  }
}

object HiveHashCode1 extends HiveHashCode {
  override def ofShort(value: Short): Int = value
  override def ofInt(value: Int): Int = value
  override def ofLong(value: Long): Int = (value ^ (value >>> 32)).toInt
  override def ofFloat(value: Float): Int = java.lang.Float.floatToIntBits(value)
  override def ofDouble(value: Double): Int = ofLong(java.lang.Double.doubleToLongBits(value))
  override def ofString(value: UTF8String): Int = text(value, 0, 0)
  override def ofVarchar(value: UTF8String): Int = text(value, 0, 1)
  override def ofChar(value: UTF8String): Int = text(value, HiveHashCode.blanks(value), 1)

  private def text(value: UTF8String, without: Int, first: Int): Int = {
    val end = value.numBytes() - without
    var hash = first
    var i = 0
    while (i < end) {
      hash = 31 * hash + value.getByte(i)
      i += 1
    }
    hash
  }

  override def ofBinary(value: Array[Byte]): Int = java.util.Arrays.hashCode(value)

  override def ofDecimal(value: Decimal): Int = HiveHashCode.shortened(value).hashCode()

  private final val Day = 86400L
  private final val FirstGregorian = -141427L // 1582-10-15

  override def ofTimestamp(value: Long): Int = {
    var seconds = Math.floorDiv(value, 1000000L)
    val nanos = Math.floorMod(value, 1000000L) * 1000
    val days = Math.floorDiv(seconds, Day)
    if (days < FirstGregorian) { // Hive's clock has the Julian calendar then
      val since = days + 719468 // 0000-03-01; from there centuries, and eras of four, have one length
      val century = math.min(Math.floorMod(since, 146097L) / 36524, 3L)
      seconds += (3 * Math.floorDiv(since, 146097L) + century - 2) * Day
    }
    ofLong((seconds << 30) | nanos)
  }
}

object HiveHashCode2 extends HiveHashCode {
  override def ofShort(value: Short): Int = HiveMurmur.ofShort(value)
  override def ofInt(value: Int): Int = HiveMurmur.ofInt(value)
  override def ofLong(value: Long): Int = HiveMurmur.ofLong(value)

  // the bits are taken for a number, and this becomes a float again
  override def ofFloat(value: Float): Int =
    HiveMurmur.ofInt(java.lang.Float.floatToIntBits(java.lang.Float.floatToIntBits(value).toFloat))
  override def ofDouble(value: Double): Int =
    HiveMurmur.ofLong(java.lang.Double.doubleToLongBits(java.lang.Double.doubleToLongBits(value).toDouble))

  override def ofString(value: UTF8String): Int = text(value, 0)
  override def ofVarchar(value: UTF8String): Int = text(value, 0)
  override def ofChar(value: UTF8String): Int = text(value, HiveHashCode.blanks(value))
  private def text(value: UTF8String, without: Int): Int =
    HiveMurmur.ofBytes(value.getBaseObject, value.getBaseOffset, value.numBytes() - without)

  override def ofBinary(value: Array[Byte]): Int = HiveMurmur.ofBytes(value)

  override def ofDecimal(value: Decimal): Int =
    HiveMurmur.ofBytes(HiveHashCode.shortened(value).unscaledValue().toByteArray)

  override def ofTimestamp(value: Long): Int = HiveTimestamp.hash(value)
}
