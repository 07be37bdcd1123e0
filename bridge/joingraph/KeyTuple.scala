package org.apache.spark.sql.parquetry.joingraph

import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.parquetry.predicates.{ExpressionTrees, PartitionPredicates}
import org.apache.spark.sql.types._

/**
 * Several keys of one join, whose values a scan gets as tuples: `f.day = d.day AND f.y <=> d.y` becomes
 *
 *     (day, y) IN (the pairs of d)          KeyTuple(Seq(day, coalesce(y, 0), y IS NULL), Seq(0, 1, 2))
 *
 * Spark's own filters have one key each, so for Spark a tuple is its first key; `TupleStrategy` and
 * `PlanTupleSubqueries` add the others.
 *
 * A key may be computed. If all keys are of partition columns, Spark evaluates them over the partitions'
 * values: `f.day = d.day AND f.y + 1 = d.y` becomes
 *
 *     (day, y + 1) IN (the pairs of d)      KeyTuple(Seq(day, y + 1), Seq(0, 1), evaluated = true)
 *
 * Otherwise the planner gets the expression.
 *
 * @param keys the join's keys, as expressions of the scan's columns
 * @param places the indices of these keys in the list of the build side's keys
 * @param evaluated whether Spark evaluates the keys over the values of partitions
 */
case class KeyTuple(keys: Seq[Expression], places: Seq[Int], evaluated: Boolean = false) extends Expression with CodegenFallback {
  override def children: Seq[Expression] = keys
  override def dataType: DataType = keys.head.dataType
  override def nullable: Boolean = keys.head.nullable
  override def eval(input: InternalRow): Any = keys.head.eval(input)
  override def sql: String = KeyTuple.text(columns.map(_.name))
  override def toString: String = sql
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): KeyTuple = copy(keys = newChildren)

  /**
   * The columns and expressions, each once. Spark makes two keys of `<=>`.
   */
  lazy val columns: Seq[TupleColumn] = if (evaluated) keys.zipWithIndex.map { case (key, at) =>
    TupleColumn(LogicalNames.of(key), key.dataType, key.dataType, at)
  } else keys.zipWithIndex.flatMap {
    case (column: AttributeReference, at) => Some(TupleColumn(column.name, column.dataType, column.dataType, at))
    case (Cast(column: AttributeReference, to, zone, _), at) if KeySource.widens(column.dataType, to, zone) =>
      Some(TupleColumn(column.name, column.dataType, to, at, zone = zone))
    case (key @ Coalesce(Seq(column: AttributeReference, _: Literal)), at) if KeyTuple.isNullSafe(key, keys) =>
      val flag = keys.indexWhere { case IsNull(same) => same.semanticEquals(column); case _ => false }
      Some(TupleColumn(column.name, column.dataType, column.dataType, at, Some(flag)))
    case (key @ IsNull(_: AttributeReference), _) if KeyTuple.isNullSafe(key, keys) => None
    case (key, at) if KeyTuple.isFunction(key) =>
      Some(TupleColumn(LogicalNames.of(key), key.dataType, key.dataType, at, of = Some(key)))
    case _ => None
  }.distinctBy(_.name)

  /** Whether a column's values come from the key at an index. */
  def uses(at: Int): Boolean = columns.exists(column => column.at == at || column.flag.contains(at))

  /** The tuple of a row of keys, or None if the row matches nothing. */
  def of(row: Seq[Any]): Option[Seq[Any]] = {
    val values = columns.map(_.of(InternalRow.fromSeq(row)))
    Option.when(values.forall(_.isDefined))(values.map(_.get))
  }

  /** The tuple as a struct of expressions of the scan's columns. */
  def struct: Expression = if (evaluated) value else KeyTuple.structOf(columns)

  /** The tuple as one expression: its keys, or an attribute that stands for the columns. */
  def value: Expression =
    if (evaluated) CreateNamedStruct(columns.flatMap(column => Seq(Literal(column.name), keys(column.at))))
    else AttributeReference(sql, KeyTuple.struct(columns))(exprId = KeyTuple.id)
}

object KeyTuple {
  /**
   * One id for all tuples: tuples of the same columns are equal in all scans of a table, so that Spark reuses
   * exchanges.
   */
  private val id = ExprId(0, UUID.nameUUIDFromBytes("parquetry tuples".getBytes(UTF_8)))

  /** A struct of columns, and of what is computed from columns; columns are known by their names. */
  def structOf(columns: Seq[TupleColumn]): Expression = CreateNamedStruct(columns.flatMap(column =>
    Seq(Literal(column.name), column.of.getOrElse(AttributeReference(column.name, column.dataType)()))))

  /** The name of tuples; `RuntimeValues` knows it by its bracket. */
  def text(parts: Seq[String]): String = parts.mkString("(", ", ", ")")
  def struct(columns: Seq[TupleColumn]): StructType = StructType(columns.map(column =>
    StructField(column.name, column.dataType, metadata = column.of.fold(Metadata.empty)(ExpressionTrees.inMetadata))))

  /**
   * The column of a key that is the column itself, a widening cast of it, or one of the two keys that Spark
   * makes of `<=>`.
   */
  def columnOf(key: Expression): Option[AttributeReference] = key match {
    case column: AttributeReference => Some(column)
    case Cast(column: AttributeReference, to, zone, _) if KeySource.widens(column.dataType, to, zone) => Some(column)
    case Coalesce(Seq(column: AttributeReference, _: Literal)) => Some(column)
    case IsNull(column: AttributeReference) => Some(column)
    case _ => None
  }

  /**
   * Whether a key is computed from columns, and its values alone decide which rows match. The planner knows
   * the results of some functions in a file, by the bounds of the columns.
   */
  def isFunction(key: Expression): Boolean = !key.isInstanceOf[AttributeReference] && key.dataType.isInstanceOf[AtomicType] &&
    PartitionPredicates.evaluable(key) && !key.exists(e => e.isInstanceOf[UserDefinedExpression] || e.isInstanceOf[KeyTuple])

  /** Whether a key is one of the two that Spark makes of `<=>`, and the other is among some keys. */
  def isNullSafe(key: Expression, keys: Seq[Expression]): Boolean = key match {
    case Coalesce(Seq(value, _: Literal)) => keys.exists { case IsNull(same) => same.semanticEquals(value); case _ => false }
    case IsNull(value) => keys.exists { case Coalesce(Seq(same, _: Literal)) => same.semanticEquals(value); case _ => false }
    case _ => false
  }
}

/**
 * A column of tuples, and the keys that give its values.
 *
 * @param key type of the key; values are cast back, and a value that the column's type does not have matches
 *   nothing
 * @param at index of the key
 * @param flag index of the key that says which values stand for NULL, or None if NULL matches nothing
 * @param zone of the cast
 * @param of the expression that computes the values, or None if a column of the scan has them
 */
case class TupleColumn(
    name: String, dataType: DataType, key: DataType, at: Int, flag: Option[Int] = None, zone: Option[String] = None,
    of: Option[Expression] = None) {
  /** The value in a row of keys, or None if the row matches nothing. */
  def of(row: InternalRow): Option[Any] = flag match {
    case Some(isNull) if row.getBoolean(isNull) => Some(null)
    case _ if row.isNullAt(at) => None
    case _ if key == dataType => Some(InternalRow.copyValue(row.get(at, key)))
    case _ => Option(Cast(Literal(row.get(at, key), key), dataType, zone, EvalMode.TRY).eval())
  }
}
