package org.apache.spark.sql.parquetry.protocol

import java.nio.{ByteBuffer, ByteOrder}
import java.util.Base64

import scala.jdk.CollectionConverters._
import scala.reflect.ClassTag
import scala.util.Using

import com.fasterxml.jackson.core.{JacksonException, JsonFactoryBuilder, JsonGenerator, JsonParser, StreamReadConstraints, TreeNode}
import com.fasterxml.jackson.databind.{
  DeserializationContext, DeserializationFeature, JsonDeserializer, JsonNode, JsonSerializer, MapperFeature, PropertyNamingStrategies,
  SerializerProvider}
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.module.SimpleModule
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.json4s.JObject
import org.json4s.jackson.{Json4sScalaModule, JsonMethods}

import org.apache.spark.sql.types.{DataType, StructType}

/** The planner's answer to a question: JSON that is read as one of the case classes of `Answers.scala`. */
class PlannerAnswer(op: String, text: String) {
  /** Number of characters. */
  val length: Int = text.length
  @volatile private var decoded: Any = _

  /**
   * Returns the answer, which is read once. A field that the case class lacks, or that the answer lacks, is
   * an error.
   */
  def as[A](implicit kind: ClassTag[A]): A = decoded match {
    case kind(answer) => answer
    case _ =>
      val answer = read[A]
      decoded = answer
      answer
  }

  private def read[A](implicit kind: ClassTag[A]): A =
    try Codec.field(text, "ok")(Codec.mapper.readValue(_, kind.runtimeClass.asInstanceOf[Class[A]])).get
    catch { case error: JacksonException => throw new ParquetryException("BRIDGE",
      s"The bridge does not understand the planner's answer to $op (${error.getOriginalMessage}): their versions differ, " +
        "start the session again with parquetry.configure.") }
}

/**
 * Reads answers, and writes facts, by the fields of their case classes. A field `mostValues` is `most_values`
 * in JSON, as in Python's structs. Whole numbers are `Int` or `Long`, but `Long` within an `Option` or a
 * `Seq`: the JVM does not know there which of them is meant.
 */
object Codec {
  private val ofAnyLength = StreamReadConstraints.builder().maxStringLength(Int.MaxValue).build() // names of files are one text
  private[protocol] val mapper: JsonMapper = JsonMapper.builder(new JsonFactoryBuilder().streamReadConstraints(ofAnyLength).build())
    .addModule(DefaultScalaModule)
    .addModule(new Json4sScalaModule)
    .addModule(forms)
    .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
    .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES, DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES,
      DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES, DeserializationFeature.USE_LONG_FOR_INTS)
    .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
    .build()

  /** Spark's types in its own JSON, numbers of files as bytes in base64, and what else is read by hand. */
  private def forms: SimpleModule = new SimpleModule()
    .addDeserializer(classOf[DataType], read(parser => DataType.fromJson(json(parser))))
    .addDeserializer(classOf[StructType], read(parser => DataType.fromJson(json(parser)).asInstanceOf[StructType]))
    .addDeserializer(classOf[RowGroupPart], read(parser => rowGroupPart(parser.readValueAsTree[JsonNode]())))
    .addDeserializer(classOf[Outcome], read(parser => Outcome.of(parser.getText)))
    .addDeserializer(classOf[Array[Int]], read { parser =>
      val numbers = littleEndian(parser).asIntBuffer()
      val array = new Array[Int](numbers.remaining())
      numbers.get(array)
      array
    })
    .addDeserializer(classOf[Array[Long]], read { parser =>
      val numbers = littleEndian(parser).asLongBuffer()
      val array = new Array[Long](numbers.remaining())
      numbers.get(array)
      array
    })
    .addSerializer(classOf[BigInt], new JsonSerializer[BigInt] {
      override def serialize(value: BigInt, to: JsonGenerator, provider: SerializerProvider): Unit = to.writeNumber(value.bigInteger)
    })

  /** By hand: the frames of Jackson for a condition of 500 levels would nearly fill the stack of a thread. */
  private def rowGroupPart(node: JsonNode): RowGroupPart = RowGroupPart(
    Option(node.required("leaf")).filterNot(_.isNull).map(_.longValue),
    Option(node.required("fn")).filterNot(_.isNull).map(_.textValue),
    node.required("args").elements.asScala.toList.map(rowGroupPart))

  private def read[A](from: JsonParser => A): JsonDeserializer[A] = new JsonDeserializer[A] {
    override def deserialize(parser: JsonParser, context: DeserializationContext): A = from(parser)
  }
  private def json(parser: JsonParser): String = parser.readValueAsTree[TreeNode]().toString
  private def littleEndian(parser: JsonParser): ByteBuffer =
    ByteBuffer.wrap(Base64.getDecoder.decode(parser.getText)).order(ByteOrder.LITTLE_ENDIAN)

  /** Reads the field of an object that has only one, or returns None if that field has another name. */
  private[protocol] def field[A](text: String, name: String)(read: JsonParser => A): Option[A] =
    Using.resource(mapper.createParser(text)) { parser =>
      parser.nextToken()
      Option.when(parser.nextFieldName() == name) {
        parser.nextToken()
        read(parser)
      }
    }

  /** The error of an answer, or None if the question was answered. */
  def error(text: String): Option[PlannerError] = field(text, "error")(mapper.readValue(_, classOf[PlannerError]))

  /** Reads what the planner sends once, before any question. */
  def terms(text: String): Terms = mapper.readValue(text, classOf[Terms])

  /** Writes a case class as the text of JSON. */
  def text(facts: Product): String = mapper.writeValueAsString(facts)

  /** Writes a case class as JSON, for a question or a report. */
  def encode(facts: Product): JObject =
    JsonMethods.fromJsonNode(mapper.valueToTree[JsonNode](facts)).asInstanceOf[JObject]
}
