package org.apache.spark.sql.parquetry.hash

/**
 * Version 2 of Hive's hash for timestamps. It hashes the bytes that Hive writes for a timestamp: 31 bits of
 * the seconds, the nanoseconds, and the other bits of the seconds.
 */
object HiveTimestamp {
  private final val Low31 = 0x7fffffffL

  def hash(micros: Long): Int = {
    val seconds = Math.floorDiv(micros, 1000000L)
    val nanos = Math.floorMod(micros, 1000000L).toInt * 1000
    val far = seconds < 0 || seconds > Low31
    val first = (seconds & Low31).toInt
    if (!far && nanos == 0) return HiveMurmur.hashInt(first)
    val bytes = new Array[Byte](16)
    put(bytes, 0, first | 0x80000000, 4)
    val digits = backwards(nanos)
    var end = number(bytes, 4, if (far) ~digits else digits)
    if (far) end = number(bytes, end, seconds >> 31)
    HiveMurmur.hashBytes(bytes, end)
  }

  /** The nine digits of nanoseconds, the last one first. */
  private def backwards(nanos: Int): Long = {
    var left = nanos
    var turned = 0L
    var i = 0
    while (i < 9) {
      turned = turned * 10 + left % 10
      left /= 10
      i += 1
    }
    turned
  }

  /**
   * Writes a number in Hadoop's variable-length form: one byte, or the number of bytes and the bytes. Returns
   * the end.
   */
  private def number(bytes: Array[Byte], at: Int, value: Long): Int =
    if (value >= -112 && value <= 127) {
      bytes(at) = value.toByte
      at + 1
    } else {
      val size = if (value < 0) ~value else value
      val count = (71 - java.lang.Long.numberOfLeadingZeros(size)) / 8
      bytes(at) = ((if (value < 0) -120 else -112) - count).toByte
      put(bytes, at + 1, size, count)
      at + 1 + count
    }

  private def put(bytes: Array[Byte], at: Int, value: Long, count: Int): Unit = {
    var i = 0
    while (i < count) {
      bytes(at + i) = (value >>> (8 * (count - 1 - i))).toByte
      i += 1
    }
  }
}
