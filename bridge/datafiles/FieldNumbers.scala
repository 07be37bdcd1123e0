package org.apache.spark.sql.parquetry.datafiles

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.parse

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.io.NullWritable
import org.apache.hadoop.mapreduce.{Job, TaskAttemptContext}
import org.apache.orc.{OrcFile, TypeDescription}
import org.apache.orc.mapred.{OrcOutputFormat, OrcStruct}
import org.apache.orc.mapreduce.OrcMapreduceRecordWriter
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext
import org.apache.parquet.schema.{GroupType, LogicalTypeAnnotation, MessageType, Type}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.execution.datasources.orc.{OrcFileFormat, OrcSerializer, OrcUtils}
import org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport
import org.apache.spark.sql.parquetry.hash.OrcTimes
import org.apache.spark.sql.types.StructType

/**
 * Field ids in the files that are written. Readers such as Iceberg's find columns by them. The planner sends
 * the ids as an option of the write. They are in the files' schemas only: in Spark's own schema they would
 * change how Spark reads, and Spark has no place there for ids of elements, keys and values.
 */
private[datafiles] object FieldNumbers {
  /** The option of a write: JSON of pairs, a path of names in the file and an id. */
  val Setting = "parquetry.field-ids"
  /** The attribute of an ORC column with its id, as Iceberg's readers look for it. */
  val OrcAttribute = "iceberg.id"

  type Ids = Map[Seq[String], Int]

  def read(conf: Configuration): Ids = {
    implicit val formats: Formats = DefaultFormats
    Option(conf.get(Setting)).fold[Ids](Map.empty)(text =>
      parse(text).children.map(pair => pair(0).extract[Seq[String]] -> pair(1).extract[Int]).toMap)
  }

  /** Returns a Parquet schema with ids. */
  def withIds(schema: MessageType, ids: Ids): MessageType =
    new MessageType(schema.getName, schema.getFields.asScala.map(t => withIds(t, Seq(t.getName), ids)).asJava)

  private def withIds(t: Type, path: Seq[String], ids: Ids): Type = {
    def groupOf(group: GroupType, fields: Type*): GroupType = group.withNewFields(fields: _*)
    val inner = t match {
      case list: GroupType if list.getLogicalTypeAnnotation.isInstanceOf[LogicalTypeAnnotation.ListLogicalTypeAnnotation] =>
        val element = path :+ "element"
        list.getType(0) match {
          case repeated: GroupType if repeated.getFieldCount == 1 && repeated.getName != "array" && !repeated.getName.endsWith("_tuple") =>
            groupOf(list, groupOf(repeated, withIds(repeated.getType(0), element, ids)))
          case repeated => groupOf(list, withIds(repeated, element, ids))
        }
      case map: GroupType if map.getLogicalTypeAnnotation.isInstanceOf[LogicalTypeAnnotation.MapLogicalTypeAnnotation] =>
        val pair = map.getType(0).asGroupType
        groupOf(map, groupOf(pair, withIds(pair.getType(0), path :+ "key", ids), withIds(pair.getType(1), path :+ "value", ids)))
      case struct: GroupType => groupOf(struct, struct.getFields.asScala.map(f => withIds(f, path :+ f.getName, ids)).toSeq: _*)
      case leaf => leaf
    }
    ids.get(path).fold(inner)(inner.withId(_))
  }

  /** Adds ids to an ORC schema. */
  def addIds(schema: TypeDescription, ids: Ids, path: Seq[String] = Nil): Unit = {
    ids.get(path).foreach(id => schema.setAttribute(OrcAttribute, id.toString))
    val names = schema.getCategory match {
      case TypeDescription.Category.STRUCT => schema.getFieldNames.asScala.toSeq
      case TypeDescription.Category.LIST => Seq("element")
      case TypeDescription.Category.MAP => Seq("key", "value")
      case _ => Nil
    }
    if (names.nonEmpty) names.zip(schema.getChildren.asScala).foreach { case (name, child) => addIds(child, ids, path :+ name) }
  }

  /** Whether any column of an ORC schema has an id. */
  def hasIds(schema: TypeDescription): Boolean =
    schema.getAttributeValue(OrcAttribute) != null || Option(schema.getChildren).exists(_.asScala.exists(hasIds))
}

/** Spark's writer of Parquet rows, with field ids in the file's schema. */
class NumberedWriteSupport extends ParquetWriteSupport {
  override def init(configuration: Configuration): WriteContext = {
    val context = super.init(configuration)
    new WriteContext(FieldNumbers.withIds(context.getSchema, FieldNumbers.read(configuration)), context.getExtraMetaData)
  }
}

/** Spark's ORC files, with field ids as attributes of their columns, in the calendar of `OrcTimes`. */
class NumberedOrc extends OrcFileFormat {
  override def prepareWrite(session: SparkSession, job: Job, options: Map[String, String], schema: StructType): OutputWriterFactory = {
    val factory = new NumberedOrcFactory(super.prepareWrite(session, job, options, schema))
    OrcTimes.setCalendar(job.getConfiguration)
    factory
  }
}

class NumberedOrcFactory(inner: OutputWriterFactory) extends OutputWriterFactory {
  override def getFileExtension(context: TaskAttemptContext): String = inner.getFileExtension(context)
  override def newInstance(path: String, schema: StructType, context: TaskAttemptContext): OutputWriter =
    new NumberedOrcWriter(path, schema, context)
}

class NumberedOrcWriter(override val path: String, schema: StructType, context: TaskAttemptContext) extends OutputWriter {
  private val serializer = new OrcSerializer(schema)
  private val records = {
    val conf = context.getConfiguration
    val types = OrcUtils.orcTypeDescription(schema)
    FieldNumbers.addIds(types, FieldNumbers.read(conf))
    val writer = OrcFile.createWriter(new Path(path), OrcOutputFormat.buildOptions(conf).setSchema(types))
    OrcUtils.addSparkVersionMetadata(writer)
    new OrcMapreduceRecordWriter[OrcStruct](writer)
  }

  override def write(row: InternalRow): Unit = records.write(NullWritable.get, serializer.serialize(row))
  override def close(): Unit = records.close(context)
}
