package org.apache.spark.sql.parquetry.protocol

import java.util.Locale

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Try

import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.connector.expressions.{Cast, Expression, Extract, GeneralScalarExpression, Literal, NamedReference, UserDefinedScalarFunc}
import org.apache.spark.sql.connector.util.V2ExpressionSQLBuilder
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/**
 * Encodes Spark's values, schemas and predicates as JSON, and decodes them. A value is a text; NULL is null.
 */
object Json {
  def strings(map: Map[String, String]): JObject = JObject(map.toList.map { case (k, v) => k -> JString(v) })
  def strings(values: Iterable[String]): JArray = JArray(values.map(JString(_)).toList)

  def readOptions(options: CaseInsensitiveStringMap): JField =
    "read_options" -> strings(options.asCaseSensitiveMap().asScala.toMap)
  def struct(value: JValue): StructType = DataType.fromJson(compact(render(value))).asInstanceOf[StructType]
  def ofType(dataType: DataType): JValue = parse(dataType.json)

  /** A Catalyst value as text: dates are days, timestamps microseconds, binary hexadecimal. */
  def ofValue(value: Any, dataType: DataType): JValue = (value, dataType) match {
    case (null, _) => JNull
    case (bytes: Array[Byte], _) => JString(bytes.map(b => f"$b%02x").mkString)
    case (other, _) => JString(other.toString)
  }

  /** A Catalyst value as a text that `toValue` reads, or None for NULL and for bytes that are no text. */
  def toText(value: Any): Option[String] = value match {
    case null => None
    case text: UTF8String => Some(text.toString).filter(_ => isText(text))
    case other => Some(other.toString)
  }
  private def isText(text: UTF8String): Boolean = UTF8String.fromString(text.toString) == text

  /**
   * The name of the type of some values. Strings that are no UTF-8 have a type that the planner does not
   * know: as a text, X'FF' would be U+FFFD, which sorts below other strings that X'FF' is above.
   */
  def typeName(dataType: DataType, values: Iterable[Any]): String = {
    val isKnown = values.forall { case text: UTF8String => isText(text); case _ => true }
    if (isKnown) dataType.sql.toLowerCase else "string that is no text"
  }

  /**
   * Whether this JVM's language changes letters of ASCII by rules of its own, beside other letters: in
   * Turkish, `lower('Iä')` is 'ıä'. Then the planner knows nothing of UPPER and LOWER.
   */
  def lettersOfALanguage: Boolean = Set("tr", "az", "lt").contains(Locale.getDefault.getLanguage)
  private val changesLetters = Set("UPPER", "LOWER")
  def literal(value: Any, dataType: DataType): JObject =
    JObject("lit" -> ofValue(value, dataType), "type" -> JString(typeName(dataType, Seq(value))))

  /** A value of the planner's, which is null for NULL. */
  def toValue(value: String, dataType: DataType): Any = value match {
    case null => null
    case s => dataType match {
      case BooleanType => s.toBoolean
      case ByteType => s.toByte
      case ShortType => s.toShort
      case IntegerType | DateType => s.toInt
      case LongType | TimestampType | TimestampNTZType => s.toLong
      case _: YearMonthIntervalType => s.toInt
      case _: DayTimeIntervalType => s.toLong
      case FloatType => s.toFloat
      case DoubleType => s.toDouble
      case d: DecimalType => Decimal(new java.math.BigDecimal(s), d.precision, d.scale)
      case BinaryType => s.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray
      case _ => UTF8String.fromString(s)
    }
  }

  def ofRow(row: InternalRow, schema: StructType): JArray = JArray(schema.fields.zipWithIndex.map {
    case (f, i) => if (row.isNullAt(i)) JNull else ofValue(row.get(i, f.dataType), f.dataType)
  }.toList)

  def toRows(rows: Array[Array[String]], schema: StructType): Array[InternalRow] = {
    val types = schema.fields.map(_.dataType)
    rows.map(row => new GenericInternalRow(Array.tabulate[Any](types.length)(i => toValue(row(i), types(i)))))
  }
  /** Values of the planner's, to be sent back to it. */
  def ofTexts(values: Seq[String]): JArray =
    JArray(values.map(value => if (value == null) JNull else JString(value)).toList)

  /**
   * A V2 expression as a tree; forms without a name of their own keep their SQL text. An AND or OR has all
   * its operands as one flat list, since a chain of thousands of conditions would be thousands of levels
   * deep. The values of an IN are one list with one type, since there may be a hundred thousand of them.
   */
  def ofExpression(expression: Expression): JValue = expression match {
    case In(column, dataType, values) => ofMembership(column.fieldNames, values, dataType)
    case l: Literal[_] => literal(l.value, l.dataType)
    case r: NamedReference => JObject("col" -> strings(r.fieldNames))
    case c: Cast => JObject("fn" -> JString("CAST"), "args" -> JArray(List(ofExpression(c.expression))),
      "type" -> JString(c.dataType.sql.toLowerCase))
    case g: GeneralScalarExpression if changesLetters(g.name) && lettersOfALanguage => JObject(
      "fn" -> JString(g.name), "class" -> JString("LettersOfALanguage"), "args" -> JArray(operands(g).map(ofExpression)))
    case g: GeneralScalarExpression => JObject("fn" -> JString(g.name), "args" -> JArray(operands(g).map(ofExpression)))
    case f: UserDefinedScalarFunc if f.canonicalName == CharPadding.canonicalName =>
      JObject("fn" -> JString(f.name), "args" -> JArray(f.children.map(ofExpression).toList))
    case e: Extract => JObject("fn" -> JString(e.field), "args" -> JArray(List(ofExpression(e.source))),
      "sql" -> JString(sql(e)))
    case other => JObject("fn" -> JString(other.getClass.getSimpleName),
      "args" -> JArray(other.children.map(ofExpression).toList), "sql" -> JString(sql(other)))
  }

  def ofMembership(column: Iterable[String], values: Iterable[Any], dataType: DataType): JObject =
    JObject("fn" -> JString("IN"), "col" -> strings(column), "type" -> JString(typeName(dataType, values)),
      "values" -> JArray(values.map(ofValue(_, dataType)).toList))

  /** Matches `column IN (literals)`, with literals of one type. */
  object In {
    def unapply(e: GeneralScalarExpression): Option[(NamedReference, DataType, Seq[Any])] = e.children.toSeq match {
      case Seq(column: NamedReference, first: Literal[_], others @ _*) if e.name == "IN" =>
        val literals = first +: others.collect { case l: Literal[_] if l.dataType == first.dataType => l }
        Option.when(literals.length == others.length + 1)((column, first.dataType, literals.map(_.value)))
      case _ => None
    }
  }

  /** Matches `column IN ()`, without literals. */
  object InNone {
    def unapply(e: GeneralScalarExpression): Option[Seq[String]] = e.children.toSeq match {
      case Seq(column: NamedReference) if e.name == "IN" => Some(column.fieldNames.toSeq)
      case _ => None
    }
  }

  private def operands(e: GeneralScalarExpression): List[Expression] =
    if (e.name != "AND" && e.name != "OR") e.children.toList
    else {
      val found = List.newBuilder[Expression]
      val waiting = mutable.Stack[Expression](e)
      while (waiting.nonEmpty) waiting.pop() match {
        case g: GeneralScalarExpression if g.name == e.name => waiting.pushAll(g.children.reverse)
        case other => found += other
      }
      found.result()
    }

  /**
   * An expression as text for people. Spark has no SQL for some expressions that it pushes itself, such as
   * `a[0]`.
   */
  private def sql(expression: Expression): String =
    Try(new V2ExpressionSQLBuilder().build(expression)).orElse(Try(expression.toString)).getOrElse(expression.getClass.getSimpleName)
}
