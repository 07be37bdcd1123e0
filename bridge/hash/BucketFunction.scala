package org.apache.spark.sql.parquetry.hash

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}
import org.apache.spark.sql.connector.catalog.functions._
import org.apache.spark.sql.connector.expressions.{Expressions, Transform}
import org.apache.spark.sql.parquetry.protocol.{BucketsAnswer, ParquetryException}
import org.apache.spark.sql.parquetry.table.Schemas
import org.apache.spark.sql.parquetry.versions.{Bucketing, TypedReducer}
import org.apache.spark.sql.types._

/**
 * The bucket of a row, as a function of one of the bucket's columns. By such functions Spark knows what the
 * rows of a scan's partition have in common, so that a join need not shuffle.
 *
 * Spark takes functions of one column only. So a bucket of k columns is reported as k functions: rows that
 * agree in all columns agree in all functions. `BucketKeys` prevents Spark from using fewer than k of them.
 *
 * @param raw the column's type in the table, such as varchar, which hashes unlike a string
 * @param column the column's number, from 1 to `columns`
 * @param input the column's type in Spark
 */
case class BucketFunction(version: String, count: Int, column: Int, columns: Int, raw: DataType, input: DataType)
  extends ScalarFunction[Integer] with ReducibleFunction[Integer, Integer] {
  override def name(): String = "bucket"
  override def inputTypes(): Array[DataType] = Array(input)
  override def resultType(): DataType = IntegerType
  override def isResultNullable: Boolean = false
  /**
   * Spark considers functions with equal names to be equal, so the name has all that the value depends on.
   */
  override def canonicalName(): String =
    s"parquetry.bucket(version $version, ${raw.asNullable.catalogString}, $column of $columns, $count)"

  /**
   * Folds buckets to the greatest common divisor of both counts; returns null if it is 1 or equals this
   * count. For several columns the divisor must be greater than the number of columns (see `BucketKeys`). For
   * smaller divisors, and where Spark cannot fold, `JoinInBuckets` has the scans report fewer buckets.
   */
  override def reducer(other: ReducibleFunction[_, _]): Reducer[Integer, Integer] = other match {
    case b: BucketFunction if b.copy(count = count).canonicalName() == canonicalName() =>
      val divisor = BigInt(count).gcd(BigInt(b.count)).toInt
      val enough = divisor > 1 && (columns == 1 || divisor > columns)
      if (Bucketing.reduces && enough && divisor < count) FoldedBuckets(divisor, column, columns) else null
    case _ => null
  }

  /** Spark calls this if it shuffles a join's other side into the same buckets, which a setting allows. */
  override def produceResult(row: InternalRow): Integer = bucket.eval(row).asInstanceOf[Integer]
  @transient private lazy val bucket: Expression =
    if (columns == 1) BucketHash.settled(version, count, Seq(BoundReference(0, input, nullable = true)), Seq(raw))
    else throw new ParquetryException("UNSUPPORTED", s"A bucket of $columns columns is no function of one of them: " +
      "SET spark.sql.sources.v2.bucketing.allowCompatibleTransforms.enabled = false")
}

/** Folds buckets to a smaller number. */
case class FoldedBuckets(count: Int, column: Int, columns: Int) extends TypedReducer[Integer, Integer] {
  override def reduce(value: Integer): Integer = BucketKeys.folded(value, count, column, columns)
  override def resultType(): DataType = IntegerType
  override def displayName(): String = s"bucket % $count"
}

object BucketFunction {
  private val prefix = "parquetry_bucket_"
  private val pattern = s"(?s)$prefix([^_]+)_(\\d+)_(\\d+)_of_(\\d+)_(.+)".r

  /** The functions of a table's buckets, by names that Spark looks up in the table's catalog. */
  def transforms(buckets: BucketsAnswer): Seq[Transform] = buckets.columns.zip(buckets.types).zipWithIndex.map { case ((column, raw), i) =>
    val name = s"$prefix${buckets.version}_${buckets.count}_${i + 1}_of_${buckets.columns.length}_${raw.json}"
    Expressions.apply(name, Schemas.reference(column))
  }

  /** The function with a name that `transforms` has made, or None for any other name. */
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
