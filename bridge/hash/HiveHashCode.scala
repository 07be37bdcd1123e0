package org.apache.spark.sql.parquetry.hash

import java.math.BigDecimal

import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String

/**
 * Hive's hash of values other than NULL, in one of its versions. The planner has the same, and explains the
 * rules with their quirks: `hashing/hive_v1.py`, `hashing/hive_v2.py`. Generated code calls these methods by
 * name.
 */
sealed trait HiveHashCode extends Serializable {
  def hashBoolean(value: Boolean): Int = if (value) 1 else 0
  def hashByte(value: Byte): Int = value
  def hashShort(value: Short): Int
  def hashInt(value: Int): Int
  def hashLong(value: Long): Int
  def hashFloat(value: Float): Int
  def hashDouble(value: Double): Int
  def hashString(value: UTF8String): Int
  def hashVarchar(value: UTF8String): Int
  def hashChar(value: UTF8String): Int
  def hashBinary(value: Array[Byte]): Int
  def hashDecimal(value: Decimal): Int
  /** Microseconds since the epoch. */
  def hashTimestamp(value: Long): Int
}

object HiveHashCode {
  def forVersion(version: Int): HiveHashCode = if (version == 1) HiveHashCode1 else HiveHashCode2

  /** Removes trailing zeros after the decimal point. */
  private[parquetry] def shortened(value: Decimal): BigDecimal = {
    val short = value.toJavaBigDecimal.stripTrailingZeros()
    if (short.scale() < 0) short.setScale(0) else short
  }

  /**
   * The number of bytes that Hive leaves out at the end of a char, which Spark has padded with blanks: the
   * blanks, and zero bytes among them.
   */
  private[parquetry] def blanks(value: UTF8String): Int = {
    var end = value.numBytes()
    if (end > 0 && value.getByte(end - 1) == ' ') {
      while (end > 0 && (value.getByte(end - 1) == ' ' || value.getByte(end - 1) == 0)) end -= 1
    }
    value.numBytes() - end
  }
}

object HiveHashCode1 extends HiveHashCode {
  override def hashShort(value: Short): Int = value
  override def hashInt(value: Int): Int = value
  override def hashLong(value: Long): Int = (value ^ (value >>> 32)).toInt
  override def hashFloat(value: Float): Int = java.lang.Float.floatToIntBits(value)
  override def hashDouble(value: Double): Int = hashLong(java.lang.Double.doubleToLongBits(value))
  override def hashString(value: UTF8String): Int = text(value, 0, 0)
  override def hashVarchar(value: UTF8String): Int = text(value, 0, 1)
  override def hashChar(value: UTF8String): Int = text(value, HiveHashCode.blanks(value), 1)

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

  override def hashBinary(value: Array[Byte]): Int = java.util.Arrays.hashCode(value)

  override def hashDecimal(value: Decimal): Int = HiveHashCode.shortened(value).hashCode()

  private final val Day = 86400L
  private final val FirstGregorian = -141427L // 1582-10-15

  override def hashTimestamp(value: Long): Int = {
    var seconds = Math.floorDiv(value, 1000000L)
    val nanos = Math.floorMod(value, 1000000L) * 1000
    val days = Math.floorDiv(seconds, Day)
    if (days < FirstGregorian) { // Hive uses the Julian calendar for these days
      val since = days + 719468 // 0000-03-01; from there centuries, and eras of four, have one length
      val century = math.min(Math.floorMod(since, 146097L) / 36524, 3L)
      seconds += (3 * Math.floorDiv(since, 146097L) + century - 2) * Day
    }
    hashLong((seconds << 30) | nanos)
  }
}

object HiveHashCode2 extends HiveHashCode {
  override def hashShort(value: Short): Int = HiveMurmur.hashShort(value)
  override def hashInt(value: Int): Int = HiveMurmur.hashInt(value)
  override def hashLong(value: Long): Int = HiveMurmur.hashLong(value)

  // Hive reads the bits as a number, and converts the number to a float again
  override def hashFloat(value: Float): Int =
    HiveMurmur.hashInt(java.lang.Float.floatToIntBits(java.lang.Float.floatToIntBits(value).toFloat))
  override def hashDouble(value: Double): Int =
    HiveMurmur.hashLong(java.lang.Double.doubleToLongBits(java.lang.Double.doubleToLongBits(value).toDouble))

  override def hashString(value: UTF8String): Int = text(value, 0)
  override def hashVarchar(value: UTF8String): Int = text(value, 0)
  override def hashChar(value: UTF8String): Int = text(value, HiveHashCode.blanks(value))
  private def text(value: UTF8String, without: Int): Int =
    HiveMurmur.hashBytes(value.getBaseObject, value.getBaseOffset, value.numBytes() - without)

  override def hashBinary(value: Array[Byte]): Int = HiveMurmur.hashBytes(value)

  override def hashDecimal(value: Decimal): Int =
    HiveMurmur.hashBytes(HiveHashCode.shortened(value).unscaledValue().toByteArray)

  override def hashTimestamp(value: Long): Int = HiveTimestamp.hash(value)
}
