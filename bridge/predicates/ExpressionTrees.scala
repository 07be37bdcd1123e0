package org.apache.spark.sql.parquetry.predicates

import java.time.Instant
import java.util.concurrent.ConcurrentHashMap

import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.{Cast => CastExpression}
import org.apache.spark.sql.catalyst.util.{ArrayData, DateTimeUtils}
import org.apache.spark.sql.parquetry.protocol.{Bridge, CharPadding, Json}
import org.apache.spark.sql.parquetry.values.{BoxValue, InBoxes}
import org.apache.spark.sql.types.{ArrayType, AtomicType, DataType, DatetimeType, Metadata, MetadataBuilder, NumericType, StructField, StructType, TimestampNTZType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Encodes Catalyst's expressions like V2's (`Json.ofExpression`). Many have no form for sources, and a V2
 * form lacks the type, the time zone, and whether a cast raises errors. The planner reads these trees in
 * `predicate/reading/operand_trees.py`.
 */
object ExpressionTrees {
  def of(e: Expression): JObject = e match {
    case Literal(row: InternalRow, fields: StructType) => of(CreateNamedStruct(fields.fields.toSeq.zipWithIndex.flatMap {
      case (field, i) => Seq(Literal(field.name), Literal(row.get(i, field.dataType), field.dataType))
    }))
    case Literal(array: ArrayData, ArrayType(element: AtomicType, _)) if array.numElements <= WrittenOut.most =>
      of(CreateArray(array.toSeq[Any](element).map(Literal(_, element))))
    case l: Literal => Json.literal(l.value, l.dataType)
    case FieldPath(path) => JObject("col" -> Json.strings(path))
    case WrittenOut(condition) => of(condition)
    case InSet(child, values) => ofMembership(child, values.toSeq, child.dataType)
    case ArrayContains(Literal(array: ArrayData, ArrayType(element: AtomicType, _)), value) if array.numElements > 0 =>
      ofMembership(value, array.toSeq[Any](element), element)
    case BucketPredicate(found) => found.tree
    case value: BoxValue => JObject(
      "box" -> JInt(value.at), "least" -> JBool(value.least), "type" -> JString(value.dataType.sql.toLowerCase))
    case boxes: InBoxes => ofBoxes(boxes)
    case ConvertTimezone(Literal(from: UTF8String, _), Literal(to: UTF8String, _), time) => // by way of the instant
      of(CastExpression(CastExpression(time, TimestampType, Some(from.toString)), TimestampNTZType, Some(to.toString)))
    case CharPadding(_) => function(CharPadding.name, e.children.map(of))
    case other => JObject(function(name(other), other.children.map(of)).obj ++ details(other))
  }

  /** Whether the planner may not know the result of some function, even if each column has one value. */
  def isUnclear(e: Expression): Boolean = e.exists {
    case _: Literal | FieldPath(_) | _: InSet | _: BoxValue | _: InBoxes => false
    case CastExpression(child, dataType, _, _) => !Seq(child.dataType, dataType).forall(t => t.isInstanceOf[NumericType] || t.isInstanceOf[DatetimeType])
    case other => BucketPredicate.unapply(other).isEmpty && CharPadding.unapply(other).isEmpty && !Set(name(other), other.getClass.getSimpleName.toUpperCase).exists(Bridge.terms.functions)
  }

  private def ofMembership(value: Expression, values: Seq[Any], dataType: DataType): JObject = value match {
    case FieldPath(path) => Json.ofMembership(path, values, dataType)
    case _ => function("IN", of(value) +: values.map(Json.literal(_, dataType)))
  }

  /** A computed key of a join, with its SQL for reports. */
  def ofKey(e: Expression): JObject = {
    val plain = EvaluatedPartitionPredicates.unmarked(e)
    JObject(of(plain).obj :+ ("sql" -> JString(plain.transform { case CharPadding(column) => column }.sql)))
  }

  /** A computed key's tree as a field's metadata; `inField` reads it. */
  def inMetadata(e: Expression): Metadata = new MetadataBuilder().putString(key, compact(render(ofKey(e)))).build()
  def inField(field: StructField): Option[JValue] =
    Option.when(field.metadata.contains(key))(parse(field.metadata.getString(key)))
  private val key = "parquetry.expression"

  private def ofBoxes(boxes: InBoxes): JObject = boxes.arrived.fold(JObject("fn" -> JString("ALWAYS_TRUE"))) { found =>
    JObject("fn" -> JString("BOXES"), "most" -> JInt(Bridge.terms.limits.boxes), "exact" -> JBool(found.exact),
      "types" -> Json.strings(found.fields.indices.map(at => Json.typeName(found.fields(at).dataType, found.rows.map(_(at))))),
      "rows" -> JArray(found.rows.map(row => JArray(found.fields.indices.map(at =>
        Json.ofValue(row(at), found.fields(at).dataType)).toList)).toList),
      "condition" -> of(boxes.condition))
  }

  private def function(name: String, arguments: Seq[JValue]): JObject =
    JObject("fn" -> JString(name), "args" -> JArray(arguments.toList))

  private def name(e: Expression): String = e match {
    case b: BinaryOperator => b.sqlOperator
    case _: CastExpression => "CAST"
    case IsNull(_) => "IS_NULL"
    case IsNotNull(_) => "IS_NOT_NULL"
    case _: UserDefinedExpression => e.getClass.getSimpleName.toUpperCase // its own name may be one of Spark's
    case other => other.prettyName.toUpperCase
  }

  private def details(e: Expression): List[JField] = {
    val more = e match {
      case c: CastExpression => List("mode" -> JString(c.evalMode.toString))
      case l: Like => List("detail" -> JString(l.escapeChar.toString))
      case t: TimestampAdd => List("detail" -> JString(t.unit))
      case t: TimestampDiff => List("detail" -> JString(t.unit))
      case _ => Nil
    }
    val zone = e match {
      case z: TimeZoneAwareExpression => z.timeZoneId.toList.flatMap(ofZone)
      case FromUTCTimestamp(_, Literal(id: UTF8String, _)) => ofZone(id.toString)
      case ToUTCTimestamp(_, Literal(id: UTF8String, _)) => ofZone(id.toString)
      case _ => Nil
    }
    val ofClass = e match {
      case _: Upper | _: Lower if Json.lettersOfALanguage => "LettersOfALanguage"
      case other => other.getClass.getSimpleName
    }
    ("class" -> JString(ofClass)) :: ("type" -> JString(e.dataType.sql.toLowerCase)) :: more ++ zone
  }

  private def ofZone(id: String): List[JField] = List("zone" -> JString(id), "offsets" -> offsets(id))
  private val byZone = new ConcurrentHashMap[String, JArray]
  private val first = Instant.parse("0001-01-01T00:00:00Z")
  private val end = Instant.parse("2100-01-01T00:00:00Z")

  /** The offsets of a zone, each with the second at which it begins; after `end` they are unknown. */
  private def offsets(zone: String): JArray = byZone.computeIfAbsent(zone, id => {
    val rules = DateTimeUtils.getZoneId(id).getRules
    val changes = Iterator.iterate(rules.nextTransition(first))(change => rules.nextTransition(change.getInstant))
      .takeWhile(change => change != null && change.getInstant.isBefore(end)).toList
    val last = changes.lastOption.map(_.getInstant).getOrElse(first)
    JArray(pair(JNull, JInt(rules.getOffset(first).getTotalSeconds)) ::
      changes.map(change => pair(JInt(change.getInstant.getEpochSecond), JInt(change.getOffsetAfter.getTotalSeconds))) :::
      (if (rules.nextTransition(last) == null) Nil else List(pair(JInt(end.getEpochSecond), JNull))))
  })
  private def pair(second: JValue, offset: JValue): JArray = JArray(List(second, offset))
}
