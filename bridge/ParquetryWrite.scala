package org.apache.spark.sql.parquetry

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.mapreduce.{Job, JobContext, TaskAttemptContext}
import org.apache.spark.internal.io.{FileCommitProtocol, FileNameSpec}
import org.apache.spark.internal.io.FileCommitProtocol.TaskCommitMessage
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions
import org.apache.spark.sql.classic.{Dataset, SparkSession => ClassicSession}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources.{FileFormatWriter, OutputWriterFactory}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.InsertableRelation
import org.apache.spark.sql.types.StructType

/** Hands the rows of an INSERT to the planner, with the mode that Spark's statement came to. */
class ParquetryWriteBuilder(table: ParquetryTable, info: LogicalWriteInfo)
  extends WriteBuilder with SupportsOverwriteV2 with SupportsDynamicOverwrite {

  private var mode = if (info.options().getBoolean(DynamicOverwrite.option, false)) "dynamic" else "append"
  private var predicates = Array.empty[Predicate]

  override def truncate(): WriteBuilder = { mode = "truncate"; this }
  override def overwrite(where: Array[Predicate]): WriteBuilder = { mode = "overwrite"; predicates = where; this }
  override def overwriteDynamicPartitions(): WriteBuilder = { mode = "dynamic"; this }

  override def build(): Write = new V1Write {
    override def toInsertableRelation: InsertableRelation = (data: DataFrame, _: Boolean) =>
      Bridge.write(table.ref, data, table.identity ++ Seq[JField](
        "mode" -> JString(mode),
        "predicates" -> JArray(predicates.map(Json.ofExpression).toList),
        "write_options" -> Json.strings(info.options().asCaseSensitiveMap().asScala.toMap)): _*)
  }
}

/** Used by the planner's write pipeline: clustering rows, and writing them where they will stay. */
object FileWriter {
  /**
   * Brings the rows of one partition together; adaptive execution splits what is larger than `bytes`
   * and packs what is smaller.
   */
  def cluster(data: DataFrame, columns: java.util.List[String], bytes: Long): DataFrame = {
    val rows = data.asInstanceOf[Dataset[_]]
    val plan = rows.queryExecution.analyzed
    val keys = columns.asScala.map(c => plan.output.find(_.name == c).get).toSeq
    Dataset.ofRows(rows.sparkSession, RebalancePartitions(keys, plan, None, Some(bytes)))
  }

  /**
   * Writes rows as files below `location`, in Hive's directories for `partitionColumns`, under names that
   * begin with `prefix`, and returns them as JSON: directory, path, bytes and time of change in milliseconds.
   */
  def write(data: DataFrame, format: String, location: String, partitionColumns: java.util.List[String],
      prefix: String, options: java.util.Map[String, String]): String = {
    val rows = data.asInstanceOf[Dataset[_]]
    val session = rows.sparkSession
    val execution = rows.queryExecution
    val output = execution.analyzed.output
    val protocol = new DirectCommitProtocol(location, prefix)
    val settings = options.asScala.toMap
    val fileFormat = format match {
      case "orc" => new OrcFileFormat
      case _ => new StatisticsFriendlyParquet
    }
    SQLExecution.withNewExecutionId(execution, Some("parquetry write")) {
      FileFormatWriter.write(
        session, execution.executedPlan, fileFormat, protocol,
        FileFormatWriter.OutputSpec(location, Map.empty, output),
        session.sessionState.newHadoopConfWithOptions(settings),
        partitionColumns.asScala.map(c => output.find(_.name == c).get).toSeq,
        None, Nil, settings)
    }
    compact(JArray(protocol.committed.map { f => JObject(
      "directory" -> JString(f.directory), "path" -> JString(f.path), "bytes" -> JInt(f.bytes),
      "modified" -> JInt(f.modified))
    }.toList))
  }
}

/** Spark writes timestamps as INT96 by default, for which Parquet keeps no statistics. */
class StatisticsFriendlyParquet extends ParquetFileFormat {
  override def prepareWrite(session: SparkSession, job: Job, options: Map[String, String],
      schema: StructType): OutputWriterFactory = {
    val factory = super.prepareWrite(session, job, options, schema)
    job.getConfiguration.set(SQLConf.PARQUET_OUTPUT_TIMESTAMP_TYPE.key, "TIMESTAMP_MICROS")
    factory
  }
}

case class WrittenFile(directory: String, path: String, bytes: Long, modified: Long)

/**
 * Files are written where they will stay, under names never used before. Nobody sees them before the
 * metastore's commit names them, so nothing is moved and a failed attempt has only to be swept up.
 */
class DirectCommitProtocol(location: String, prefix: String) extends FileCommitProtocol with Serializable {
  @transient private var files = Seq.empty[WrittenFile]
  @transient private var attempt = Seq.empty[(String, Path)]

  def committed: Seq[WrittenFile] = files

  override def setupJob(job: JobContext): Unit = ()
  override def commitJob(job: JobContext, tasks: Seq[TaskCommitMessage]): Unit =
    files = tasks.flatMap(_.obj.asInstanceOf[Seq[WrittenFile]])

  /** On the driver: what tasks that ended well have written, should their job fail. */
  @transient private lazy val ended = new ConcurrentLinkedQueue[WrittenFile]()
  override def onTaskCommit(task: TaskCommitMessage): Unit =
    ended.addAll(task.obj.asInstanceOf[Seq[WrittenFile]].asJava)
  override def abortJob(job: JobContext): Unit = ended.asScala.foreach { file =>
    val path = new Path(file.path)
    path.getFileSystem(job.getConfiguration).delete(path, false)
  }

  override def setupTask(task: TaskAttemptContext): Unit = attempt = Nil

  override def newTaskTempFile(task: TaskAttemptContext, dir: Option[String], spec: FileNameSpec): String = {
    val id = task.getTaskAttemptID
    val name = f"$prefix-${id.getTaskID.getId}%05d-${id.getId}-${attempt.size}%04d${spec.suffix.replaceFirst("^-c\\d+", "")}"
    val path = new Path(dir.fold(new Path(location))(new Path(location, _)), name)
    attempt = attempt :+ (dir.getOrElse(""), path)
    path.toString
  }
  override def newTaskTempFile(task: TaskAttemptContext, dir: Option[String], ext: String): String =
    newTaskTempFile(task, dir, FileNameSpec("", ext))
  override def newTaskTempFileAbsPath(task: TaskAttemptContext, dir: String, ext: String): String =
    throw new UnsupportedOperationException("partitions with a location of their own are written below the table")

  override def commitTask(task: TaskAttemptContext): TaskCommitMessage = new TaskCommitMessage(attempt.map {
    case (dir, path) =>
      val status: FileStatus = path.getFileSystem(task.getConfiguration).getFileStatus(path)
      WrittenFile(dir, path.toString, status.getLen, status.getModificationTime)
  })
  override def abortTask(task: TaskAttemptContext): Unit =
    attempt.foreach { case (_, path) => path.getFileSystem(task.getConfiguration).delete(path, false) }
}
