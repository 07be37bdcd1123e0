package org.apache.spark.sql.parquetry.hash

import java.nio.ByteOrder

import org.apache.spark.unsafe.Platform

/**
 * Murmur3 as Hive computes it: with Hive's seed, big-endian numbers, and signed bytes after the last whole
 * word.
 */
object HiveMurmur {
  private final val Seed = 104729
  private val littleEndian = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN

  private def scrambled(word: Int): Int = Integer.rotateLeft(word * 0xcc9e2d51, 15) * 0x1b873593
  private def taken(hash: Int, word: Int): Int = Integer.rotateLeft(hash ^ scrambled(word), 13) * 5 + 0xe6546b64
  private def finished(hash: Int, length: Int): Int = {
    val first = hash ^ length
    val second = (first ^ (first >>> 16)) * 0x85ebca6b
    val third = (second ^ (second >>> 13)) * 0xc2b2ae35
    third ^ (third >>> 16)
  }

  def hashShort(value: Short): Int = finished(Seed ^ scrambled((value >> 8) ^ (value.toByte << 8)), 2)
  def hashInt(value: Int): Int = finished(taken(Seed, Integer.reverseBytes(value)), 4)
  def hashLong(value: Long): Int =
    finished(taken(taken(Seed, Integer.reverseBytes((value >>> 32).toInt)), Integer.reverseBytes(value.toInt)), 8)

  def hashBytes(bytes: Array[Byte]): Int = hashBytes(bytes, bytes.length)
  def hashBytes(bytes: Array[Byte], length: Int): Int = hashBytes(bytes, Platform.BYTE_ARRAY_OFFSET, length)
  def hashBytes(base: AnyRef, offset: Long, length: Int): Int = {
    val whole = length & ~3
    var hash = Seed
    var i = 0
    while (i < whole) {
      val word = Platform.getInt(base, offset + i)
      hash = taken(hash, if (littleEndian) word else Integer.reverseBytes(word))
      i += 4
    }
    var rest = 0
    while (i < length) {
      rest ^= Platform.getByte(base, offset + i) << (8 * (i - whole))
      i += 1
    }
    finished(hash ^ scrambled(rest), length)
  }
}
