package org.apache.spark.sql.parquetry.hash

import java.util.Locale

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.connector.catalog.functions._
import org.apache.spark.sql.parquetry.protocol.ParquetryException
import org.apache.spark.sql.types._

/**
 * `system.hive_hash(version, a [, b …])` gives the hash of a row, and `system.hive_bucket(version, n, a [, b
 * …])` its bucket, one of n. `ResolveHashFunctions` replaces a call by an expression with generated code.
 */
class HashFunction private (override val name: String, bucket: Boolean) extends UnboundFunction {
  private val leading = if (bucket) 2 else 1

  private val usage = s"$name(version, ${if (bucket) "n, " else ""}a [, b …])"

  override def description(): String = {
    val what =
      if (bucket) "Returns in which of n buckets a row belongs, from 0, by the columns a, b, …"
      else "Returns the hash by which a row with the values a, b, … is put into a bucket"
    s"$usage - $what. The version is 1 (Hive 1 and 2), 2 (Hive 3 and later) or 'spark' (Spark's own bucketed tables)."
  }

  override def bind(input: StructType): BoundFunction = {
    if (input.length <= leading) {
      throw new UnsupportedOperationException(s"it needs more arguments, $usage")
    }
    Bound(input.map(_.dataType))
  }

  case class Bound(types: Seq[DataType]) extends ScalarFunction[Integer] {
    override def name(): String = HashFunction.this.name
    override def canonicalName(): String = s"parquetry.$name(${types.map(_.catalogString).mkString(",")})"
    override def inputTypes(): Array[DataType] = types.toArray
    override def resultType(): DataType = IntegerType
    override def isResultNullable: Boolean = false

    /** The expression of a call; `rawTypes` are the types of its arguments in their tables. */
    def expression(arguments: Seq[Expression], rawTypes: Seq[DataType]): Expression = {
      val version = HashFunction.version(name, constant(arguments.head, "version", "1, 2 or 'spark'"))
      val values = arguments.drop(leading)
      val types = rawTypes.drop(leading)
      if (bucket) {
        val count = HashFunction.count(name, constant(arguments(1), "number of buckets", "1 or more"))
        BucketHash.bucket(version, count, values, types)
      } else {
        BucketHash.hash(version, values, types)
      }
    }

    private def constant(e: Expression, what: String, remedy: String): Any = {
      if (!e.foldable) {
        throw new ParquetryException("UNSUPPORTED", s"Function $name: the $what is ${e.sql}, which is no constant: give $remedy.")
      }
      e.eval()
    }

    // in a session without our rules: evaluates the same expression over the arguments' values
    @transient private lazy val known = mutable.Map.empty[Seq[Any], Expression]
    override def produceResult(input: InternalRow): Integer = {
      val first = (0 until leading).map(i => input.get(i, types(i)))
      val expression = known.synchronized(known.getOrElseUpdate(first, this.expression(types.zipWithIndex.map {
        case (t, i) if i < leading => Literal(first(i), t)
        case (t, i) => BoundReference(i, t, nullable = true)
      }, types)))
      expression.eval(input).asInstanceOf[Integer]
    }
  }
}

object HashFunction {
  val all: Map[String, HashFunction] =
    Seq(new HashFunction("hive_hash", bucket = false), new HashFunction("hive_bucket", bucket = true))
      .map(f => f.name -> f).toMap

  private val versions = Set("1", "2", BucketHash.Spark)
  private def version(name: String, given: Any): String = given match {
    case value if value != null && versions(value.toString.toLowerCase(Locale.ROOT)) => value.toString.toLowerCase(Locale.ROOT)
    case other => throw new ParquetryException("UNSUPPORTED", s"Function $name: the version is $other: give 1, 2 or 'spark'.")
  }

  private def count(name: String, given: Any): Int = given match {
    case n @ (_: Byte | _: Short | _: Int | _: Long) if n.asInstanceOf[Number].longValue >= 1 &&
        n.asInstanceOf[Number].longValue <= Int.MaxValue => n.asInstanceOf[Number].intValue
    case other => throw new ParquetryException("UNSUPPORTED", s"Function $name: the number of buckets is $other: give 1 or more.")
  }
}
