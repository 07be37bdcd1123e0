package org.apache.spark.sql.parquetry.predicates

import org.json4s._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.parquetry.hash.{BucketHash, HiveBucketHash}
import org.apache.spark.sql.parquetry.protocol.{CharPadding, Json}
import org.apache.spark.sql.types._

/**
 * A condition that rows are in some of `count` buckets by plain columns: `TABLESAMPLE (BUCKET …)`,
 * `hive_bucket(…) = 3` and `pmod(hash(a), 16) = 3` become such. The planner compares it with the buckets of a
 * table.
 *
 * @param types the hashed types of the columns, or Nil for Spark's hash
 * @param settled whether -0.0 is hashed as 0.0, as in tables that we write
 */
case class BucketMembership(
    version: String, count: Int, buckets: Seq[Int], columns: Seq[String], types: Seq[DataType], settled: Boolean) {
  def tree: JObject = JObject(
    "fn" -> JString(BucketPredicate.Function), "version" -> JString(version), "count" -> JInt(count),
    "buckets" -> JArray(buckets.map(JInt(_)).toList), "columns" -> Json.strings(columns),
    "types" -> Json.strings(types.map(_.sql.toLowerCase)), "settled" -> JBool(settled))

  /** The condition as a user would write it. */
  def sql: String = {
    val bucket = s"hive_bucket(${(version.replace(BucketHash.Spark, "'spark'") +: count.toString +: columns.map(quoteIfNeeded)).mkString(", ")})"
    if (buckets.length == 1) s"$bucket = ${buckets.head}" else s"$bucket IN (${buckets.mkString(", ")})"
  }
}

object BucketPredicate {
  val Function = "IN_BUCKET"

  def unapply(e: Expression): Option[BucketMembership] = e match {
    case EqualTo(bucket, Literal(number: Int, IntegerType)) => of(bucket, Seq(number))
    case EqualTo(Literal(number: Int, IntegerType), bucket) => of(bucket, Seq(number))
    case In(bucket, list) if list.forall(isNumber) => of(bucket, list.map { case Literal(number: Int, _) => number })
    case InSet(bucket, numbers) if numbers.forall(_.isInstanceOf[Int]) => of(bucket, numbers.toSeq.collect { case n: Int => n }.sorted)
    case _ => None
  }
  private def isNumber(e: Expression): Boolean = e match {
    case Literal(_: Int, IntegerType) => true
    case _ => false
  }

  private def of(bucket: Expression, numbers: Seq[Int]): Option[BucketMembership] = bucket match {
    case Remainder(BitwiseAnd(hash: HiveBucketHash, Literal(Int.MaxValue, _)), Literal(count: Int, _), _) if count > 0 =>
      columns(hash.children).map { names =>
        val settled = hash.children.zip(hash.types).forall { case (child, t) => child.isInstanceOf[KnownFloatingPointNormalized] || !hasFloats(t) }
        BucketMembership(hash.version.toString, count, numbers, names, hash.types, settled)
      }
    case Pmod(Murmur3Hash(children, 42), Literal(count: Int, _), _) if count > 0 =>
      columns(children).map(BucketMembership(BucketHash.Spark, count, numbers, _, Nil, settled = true))
    case _ => None
  }

  private def columns(children: Seq[Expression]): Option[Seq[String]] = {
    val names = children.map(plain)
    Option.when(names.nonEmpty && names.forall(_.isDefined))(names.flatten)
  }
  private def plain(e: Expression): Option[String] = e match {
    case a: AttributeReference => Some(a.name)
    case CharPadding(a: AttributeReference) => Some(a.name)
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(a: AttributeReference)) => Some(a.name)
    case marked: KnownNullable => plain(marked.child)
    case _ => None
  }
  private def hasFloats(t: DataType): Boolean = t.existsRecursively(part => part == FloatType || part == DoubleType)
}
