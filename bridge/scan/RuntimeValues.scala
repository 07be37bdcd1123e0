package org.apache.spark.sql.parquetry

import java.io.ByteArrayOutputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.util.Base64

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.execution.InSubqueryExec
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * What a join finds at run time, as the planner reads it (`predicate/packed.py`, `planner/found_values.py`): there may be a hundred
 * thousand values, of which no tree and no text is made.
 */
object RuntimeValues {
  /**
   * What a filter says at run time; None: the planner has no form for it.
   *
   * @param most values of a set, past which only their number, the least and the greatest are told
   */
  def tree(filter: Expression, most: Int): Option[JValue] = filter match {
    case in: InSubqueryExec => in.child match {
      case column: AttributeReference => in.values().map(values => tree(Seq(column.name), column.dataType, values.toSeq, most))
      case _ => None
    }
    case other => DataSourceV2Strategy.translateFilterV2(UntranslatableConditions.conjunctsGuarded(other)).map(tree(_, most))
  }

  def tree(found: Predicate, most: Int): JValue = found match {
    case Json.In(column, dataType, values) => tree(column.fieldNames.toSeq, dataType, values, most)
    case other => Json.ofExpression(other)
  }

  private def tree(column: Seq[String], dataType: DataType, values: Seq[Any], most: Int): JValue = {
    val there = values.filter(_ != null)
    val named = List[JField]("col" -> Json.strings(column), "type" -> JString(dataType.sql.toLowerCase))
    if (there.length > most) {
      val order = TypeUtils.getInterpretedOrdering(dataType)
      JObject(("fn" -> JString("WITHIN")) :: named ::: List[JField]("count" -> JInt(there.length),
        "least" -> Json.ofValue(there.min(order), dataType), "greatest" -> Json.ofValue(there.max(order), dataType)))
    } else packed(there, dataType).fold[JValue](Json.ofMembership(column, values, dataType))(fields =>
      JObject(("fn" -> JString("IN")) :: named ::: fields ::: List[JField]("null" -> JBool(there.length < values.length))))
  }

  /** Whole numbers and what Spark holds as such, floats as doubles, bytes one behind the other; None: the type is none of these. */
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
