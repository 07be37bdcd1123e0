package org.apache.spark.sql.parquetry.audit

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BindReferences, Expression, IsNull, UnsafeProjection, XxHash64}
import org.apache.spark.sql.types.{DataType, MapType, VariantType}

/**
 * A multiset of rows, as numbers: equal multisets have equal numbers, in whatever order the rows come.
 *
 * @param rows the number of rows
 * @param sum the sum of the rows' hashes
 * @param mixed the sum of the hashes' hashes
 */
case class Checksum(rows: Long, sum: Long, mixed: Long) {
  def +(other: Checksum): Checksum = Checksum(rows + other.rows, sum + other.sum, mixed + other.mixed)
}

object Checksum {
  private val none = Checksum(0, 0, 0)

  /**
   * The columns of rows that are compared.
   *
   * @param output of the plan
   * @param columns indices in `output`
   */
  case class Compared(output: Seq[Attribute], columns: Seq[Int]) {
    /** The hash of a row. A NULL changes no hash of Spark's, so it counts for itself. */
    def hash: Expression = BindReferences.bindReference(new XxHash64(columns.map(output).flatMap(column =>
      Option.when(!column.dataType.existsRecursively(isUnordered))(column) ++ Seq(IsNull(column)))): Expression, output)
  }
  private def isUnordered(dataType: DataType): Boolean = dataType.isInstanceOf[MapType] || dataType.isInstanceOf[VariantType]

  def of(rows: Seq[InternalRow], compared: Compared): Checksum = fold(rows.iterator, compared.hash)
  def of(rows: RDD[InternalRow], compared: Compared): Checksum = {
    val hash = compared.hash
    rows.mapPartitions(some => Iterator(fold(some, hash))).fold(none)(_ + _)
  }

  private def fold(rows: Iterator[InternalRow], hash: Expression): Checksum = {
    val projection = UnsafeProjection.create(Seq(hash))
    rows.map { row =>
      val found = projection(row).getLong(0)
      Checksum(1, found, java.lang.Long.rotateLeft(found * 0x9E3779B97F4A7C15L, 31) * 0xC2B2AE3D27D4EB4FL)
    }.foldLeft(none)(_ + _)
  }
}
