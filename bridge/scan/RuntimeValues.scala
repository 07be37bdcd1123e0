package org.apache.spark.sql.parquetry.scan

import java.io.ByteArrayOutputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.util.Base64

import org.json4s._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, Literal}
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.execution.InSubqueryExec
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy
import org.apache.spark.sql.parquetry.predicates.{
  EvaluatedPartitionPredicates, ExpressionTrees, FieldPath, GuardUntranslatablePredicates, PartitionPredicates}
import org.apache.spark.sql.parquetry.protocol.Json
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Encodes the values of runtime filters for the planner, which decodes them in
 * `predicate/reading/join_values.py` and `planner/scans/runtime_values.py`. A filter may have a hundred
 * thousand values, so they are packed as bytes, not written as a tree or text.
 */
object RuntimeValues {
  /**
   * Returns the tree of a filter whose values have arrived, or None if the protocol has no form for it.
   *
   * @param most maximum number of values of a set; of a larger one only the count, minimum and maximum are
   *   sent
   */
  def tree(filter: Expression, most: Int): Option[JValue] = filter match {
    case in: InSubqueryExec => in.child match {
      case column: AttributeReference if column.dataType.isInstanceOf[StructType] && !isTuple(Seq(column.name)) => None
      case FieldPath(path) if path.length == 1 || in.child.dataType.isInstanceOf[AtomicType] =>
        in.values().map(values => membership(path, in.child.dataType, values.toSeq, most))
      case key if key.dataType.isInstanceOf[AtomicType] => in.values().map(values => ofKey(key, values.toSeq, most))
      case _ => None
    }
    case plain if PartitionPredicates.plain(plain) =>
      DataSourceV2Strategy.translateFilterV2(GuardUntranslatablePredicates.conjunctsGuarded(plain)).map(tree(_, most))
    case other => Some(ExpressionTrees.of(EvaluatedPartitionPredicates.unmarked(other)))
  }

  def tree(found: Predicate, most: Int): JValue = found match {
    case Json.In(column, dataType, values) => membership(column.fieldNames.toSeq, dataType, values, most)
    case Json.InNone(column) if isTuple(column) => noTuples(column)
    case other => Json.ofExpression(other)
  }

  private def membership(column: Seq[String], dataType: DataType, values: Seq[Any], most: Int): JValue = dataType match {
    case _: StructType if values.isEmpty && isTuple(column) => noTuples(column)
    case struct: StructType => tuples(struct, values.map(_.asInstanceOf[InternalRow]), most)
    case _ => set("col" -> Json.strings(column), dataType, values, most)
  }

  /** Returns the tree of the values of a computed key. */
  def ofKey(key: Expression, values: Seq[Any], most: Int): JValue =
    set("of" -> ExpressionTrees.ofKey(key), key.dataType, values, most)

  /** Returns the tree of tuples, given as rows of some columns. */
  def ofTuples(columns: StructType, rows: Seq[InternalRow], most: Int): JValue = membership(Seq(tupleName(columns)), columns, rows, most)

  private def tupleName(columns: StructType): String = columns.fieldNames.mkString("(", ", ", ")")
  /** Whether a name stands for the columns of a `KeyTuple`. */
  private def isTuple(column: Seq[String]): Boolean = column.length == 1 && column.head.startsWith("(")
  private def noTuples(column: Seq[String]): JValue =
    JObject("fn" -> JString("TUPLES"), "count" -> JInt(0), "text" -> JString(column.head))

  /** @param of a column, or an expression */
  private def set(of: JField, dataType: DataType, values: Seq[Any], most: Int): JValue = {
    val there = values.filter(_ != null)
    val named = List[JField](of, "type" -> JString(Json.typeName(dataType, there)))
    if (there.length > most) {
      val order = TypeUtils.getInterpretedOrdering(dataType)
      JObject(("fn" -> JString("WITHIN")) :: named ::: List[JField]("count" -> JInt(there.length),
        "least" -> Json.ofValue(there.min(order), dataType), "greatest" -> Json.ofValue(there.max(order), dataType)))
    } else JObject(("fn" -> JString("IN")) :: named ::: packed(there, dataType).fold[List[JField]](
      List("values" -> JArray(values.map(Json.ofValue(_, dataType)).toList)))(_ ::: List[JField]("null" -> JBool(there.length < values.length))))
  }

  /**
   * Tuples, column by column: the n-th values form a tuple. If there are more than `most`, a set for each
   * column.
   */
  private def tuples(columns: StructType, rows: Seq[InternalRow], most: Int): JValue = {
    val found = columns.fields.toList.zipWithIndex.map { case (field, at) =>
      field -> rows.map(row => if (row.isNullAt(at)) null else row.get(at, field.dataType))
    }
    if (rows.length > most) JObject("fn" -> JString("AND"), "args" -> JArray(found.map { case (field, values) => setWithNull(field, values.distinct, most) }))
    else JObject("fn" -> JString("TUPLES"), "count" -> JInt(rows.length), "args" -> JArray(found.map { case (field, values) => column(field, values) }))
  }

  /** The set of a column's values; NULL matches NULL, as in a tuple. */
  private def setWithNull(field: StructField, values: Seq[Any], most: Int): JValue = {
    val there = set(of(field), field.dataType, values.filter(_ != null), most)
    if (!values.contains(null)) there
    else {
      val isNull = JObject("fn" -> JString("IS_NULL"), "args" -> JArray(List(JObject("col" -> Json.strings(Seq(field.name))))))
      JObject("fn" -> JString("OR"), "args" -> JArray(List(there, isNull)))
    }
  }

  private def column(field: StructField, values: Seq[Any]): JValue = {
    val instead = Literal.default(field.dataType).value // in place of NULL
    val fields = packed(values.map(value => if (value == null) instead else value), field.dataType).getOrElse(
      List[JField]("values" -> JArray(values.map(Json.ofValue(_, field.dataType)).toList)))
    val flags = values.map(value => (if (value == null) 1 else 0).toByte)
    val nulls = if (values.contains(null)) List[JField]("nulls" -> text(flags.toArray)) else Nil
    JObject(of(field) :: ("type" -> JString(field.dataType.sql.toLowerCase): JField) :: fields ::: nulls)
  }

  /** The column or expression of a tuple's field. */
  private def of(field: StructField): JField =
    ExpressionTrees.inField(field).fold[JField]("col" -> Json.strings(Seq(field.name)))(tree =>
      tree \ "col" match {
        case path: JArray => "col" -> path
        case _ => "of" -> tree
      })

  /**
   * Packs values: whole numbers, and types that Spark stores as such, as longs; floats as doubles; texts and
   * binary as concatenated bytes. Returns None for all other types.
   */
  private def packed(values: Seq[Any], dataType: DataType): Option[List[JField]] = dataType match {
    case ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType =>
      Some(List("packed" -> numbers(values.length, 8)(buffer =>
        values.foreach(value => buffer.putLong(value.asInstanceOf[Number].longValue)))))
    case FloatType | DoubleType =>
      Some(List("packed" -> numbers(values.length, 8)(buffer =>
        values.foreach(value => buffer.putDouble(value.asInstanceOf[Number].doubleValue)))))
    case _: StringType | BinaryType =>
      val parts = values.map {
        case text: UTF8String => text.getBytes
        case bytes: Array[Byte] => bytes
      }
      val all = new ByteArrayOutputStream
      parts.foreach(all.write(_))
      Some(List("packed" -> text(all.toByteArray), "lengths" -> numbers(parts.length, 4)(buffer =>
        parts.foreach(part => buffer.putInt(part.length)))))
    case _ => None
  }

  private def numbers(count: Int, width: Int)(put: ByteBuffer => Unit): JString = {
    val buffer = ByteBuffer.allocate(count * width).order(ByteOrder.LITTLE_ENDIAN)
    put(buffer)
    text(buffer.array)
  }
  private def text(bytes: Array[Byte]): JString = JString(Base64.getEncoder.encodeToString(bytes))
}
