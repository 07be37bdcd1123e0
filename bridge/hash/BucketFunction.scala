package org.apache.spark.sql.parquetry.hash

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}
import org.apache.spark.sql.connector.catalog.functions._
import org.apache.spark.sql.connector.expressions.{Expressions, Transform}
import org.apache.spark.sql.parquetry.protocol.{BucketsAnswer, ParquetryException}
import org.apache.spark.sql.parquetry.table.Schemas
import org.apache.spark.sql.types._

/**
 * The bucket of a row, as a function of one of the columns that it is of: the form in which Spark wants to be told what a scan's
 * partitions have in common, so that a join need not shuffle.
 *
 * Spark takes functions of one column only. A bucket of k columns is told as k functions: rows that agree in all columns agree in all
 * functions, and `BucketKeys` sees to it that Spark takes fewer than k for nothing.
 *
 * @param raw the column's type as the table has it: of a varchar Spark says that it is a string, which hashes otherwise
 * @param column the number of the column, from 1, of `columns`
 * @param input the column's type as Spark has it
 */
case class BucketFunction(version: String, count: Int, column: Int, columns: Int, raw: DataType, input: DataType)
  extends ScalarFunction[Integer] with ReducibleFunction[Integer, Integer] {
  override def name(): String = "bucket"
  override def inputTypes(): Array[DataType] = Array(input)
  override def resultType(): DataType = IntegerType
  override def isResultNullable: Boolean = false
  /** Spark takes functions of one name for the same: all that the value depends on is in it. */
  override def canonicalName(): String =
    s"parquetry.bucket(version $version, ${raw.asNullable.catalogString}, $column of $columns, $count)"

  /**
   * How buckets are folded to those of a number that divides this one: nobody's, if it is 1. Of several columns there must be more
   * buckets than columns (see `BucketKeys`); for others `JoinAtLargerBucketCount` has the scans tell of fewer.
   */
  override def reducer(other: ReducibleFunction[_, _]): Reducer[Integer, Integer] = other match {
    case b: BucketFunction if b.copy(count = count).canonicalName() == canonicalName() =>
      val divisor = BigInt(count).gcd(BigInt(b.count)).toInt
      val enough = divisor > 1 && (columns == 1 || divisor > columns)
      if (enough && divisor < count) FoldedBuckets(divisor, column, columns) else null
    case _ => null
  }

  /** Spark asks for it where it shuffles the other side of a join alike, which a user may have turned on. */
  override def produceResult(row: InternalRow): Integer = bucket.eval(row).asInstanceOf[Integer]
  @transient private lazy val bucket: Expression =
    if (columns == 1) BucketHash.settled(version, count, Seq(BoundReference(0, input, nullable = true)), Seq(raw))
    else throw new ParquetryException("UNSUPPORTED", s"A bucket of $columns columns is no function of one of them: " +
      "SET spark.sql.sources.v2.bucketing.allowCompatibleTransforms.enabled = false")
}

/** Buckets folded to a smaller number. */
case class FoldedBuckets(count: Int, column: Int, columns: Int) extends Reducer[Integer, Integer] {
  override def reduce(value: Integer): Integer = BucketKeys.folded(value, count, column, columns)
  override def resultType(): DataType = IntegerType
  override def displayName(): String = s"bucket % $count"
}

object BucketFunction {
  private val prefix = "parquetry_bucket_"
  private val pattern = s"(?s)$prefix([^_]+)_(\\d+)_(\\d+)_of_(\\d+)_(.+)".r

  /** The functions of some buckets, for Spark to look up in the table's catalog. */
  def transforms(buckets: BucketsAnswer): Seq[Transform] = buckets.columns.zipWithIndex.map { case ((column, raw), i) =>
    val name = s"$prefix${buckets.version}_${buckets.count}_${i + 1}_of_${buckets.columns.length}_${raw.json}"
    Expressions.apply(name, Expressions.column(Schemas.quoted(column)))
  }

  /** What `transforms` has named. */
  def named(name: String): Option[UnboundFunction] = name match {
    case pattern(version, count, column, columns, raw) => Some(new UnboundFunction {
      override def name(): String = "bucket"
      override def description(): String = s"The bucket of a row, of $count."
      override def bind(input: StructType): BoundFunction =
        BucketFunction(version, count.toInt, column.toInt, columns.toInt, DataType.fromJson(raw), input.fields(0).dataType)
    })
    case _ => None
  }
}
