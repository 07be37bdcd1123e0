package org.apache.spark.sql.parquetry.hash

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers
import org.apache.spark.sql.types.{DataType, IntegerType}

object BucketHash {
  val Spark = "spark"

  /** The hash of some columns in a version: "1", "2" or `Spark`. */
  def hash(version: String, columns: Seq[Expression], types: Seq[DataType]): Expression =
    if (version == Spark) new Murmur3Hash(columns) else HiveBucketHash(version.toInt, columns, types)

  /** The bucket of a row, from 0. */
  def bucket(version: String, count: Int, columns: Seq[Expression], types: Seq[DataType]): Expression = {
    val hashed = hash(version, columns, types)
    if (version == Spark) Pmod(hashed, Literal(count))
    else Remainder(BitwiseAnd(hashed, Literal(Int.MaxValue)), Literal(count))
  }

  /**
   * The same, with one bucket for equal values, as in tables that we write: -0.0 counts as 0.0, and all NaN
   * as one.
   */
  def settled(version: String, count: Int, columns: Seq[Expression], types: Seq[DataType]): Expression =
    bucket(version, count, columns.map(NormalizeFloatingNumbers.normalize), types)
}

/**
 * Hive's hash of a row for its bucket, in version 1 or 2; NULL counts as 0.
 *
 * @param types the children's types in the table: a char or varchar is only a string as an expression
 */
case class HiveBucketHash(version: Int, children: Seq[Expression], types: Seq[DataType]) extends Expression {
  override def dataType: DataType = IntegerType
  override def nullable: Boolean = false
  override def foldable: Boolean = children.forall(_.foldable)
  override def prettyName: String = "hive_hash"
  override def sql: String = called(children.map(_.sql))
  override def toString: String = called(children.map(_.toString))
  private def called(arguments: Seq[String]): String = s"$prettyName($version, ${arguments.mkString(", ")})"
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Expression =
    copy(children = newChildren)

  override def checkInputDataTypes(): TypeCheckResult = types.find(!ValueHash.has(_)) match {
    case Some(t) => TypeCheckResult.TypeCheckFailure(s"values of type ${t.sql} have no hash for buckets")
    case None => TypeCheckResult.TypeCheckSuccess
  }

  @transient private lazy val hashes = types.map(ValueHash(version, _)).toArray

  override def eval(input: InternalRow): Any = {
    var hash = 0
    children.zip(hashes).foreach { case (child, each) =>
      val value = child.eval(input)
      hash = 31 * hash + (if (value == null) 0 else each.of(value))
    }
    hash
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val steps = children.zip(types).map { case (child, t) =>
      val value = child.genCode(ctx)
      val hash = ValueHash.code(version, t, value.value, ctx)
      s"""${value.code}
         |${ev.value} = 31 * ${ev.value} + (${value.isNull} ? 0 : $hash);""".stripMargin
    }
    val all = ctx.splitExpressionsWithCurrentInputs(steps, "hiveHash", Seq(CodeGenerator.JAVA_INT -> ev.value),
      CodeGenerator.JAVA_INT, body => s"$body\nreturn ${ev.value};",
      _.map(call => s"${ev.value} = $call;").mkString("\n"))
    ev.copy(code = code"""
      int ${ev.value} = 0;
      $all""", isNull = FalseLiteral)
  }
}
