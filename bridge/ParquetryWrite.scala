package org.apache.spark.sql.parquetry

import java.io.IOException
import java.nio.file.Files
import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, LocalFileSystem, Path}
import org.apache.hadoop.mapreduce.{Job, JobContext, TaskAttemptContext}
import org.apache.spark.TaskContext
import org.apache.spark.internal.io.{FileCommitProtocol, FileNameSpec}
import org.apache.spark.internal.io.FileCommitProtocol.TaskCommitMessage
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, SortOrder, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.{RebalancePartitions, RepartitionByExpression}
import org.apache.spark.sql.classic.{Dataset, SparkSession => ClassicSession}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources.{FileFormat, FileFormatWriter, OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.InsertableRelation
import org.apache.spark.sql.types.{DataType, StructType}

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

/** Used by the planner's write pipeline: arranging rows, writing them where they will stay, and sweeping up. */
object FileWriter {
  /**
   * Brings the rows of one partition together, or those that are near each other in the order of `ranges`.
   * Adaptive execution splits what is larger than `bytes` of shuffled data and packs what is smaller, as
   * `settings` say: they hold for this write alone, in a session of its own.
   */
  def cluster(data: DataFrame, columns: java.util.List[String], ranges: java.util.List[String],
      bytes: Long, settings: java.util.Map[String, String]): DataFrame = {
    val rows = data.asInstanceOf[Dataset[_]]
    val session = rows.sparkSession.cloneSession()
    settings.forEach((key, value) => session.sessionState.conf.setConfString(key, value))
    val plan = rows.queryExecution.analyzed
    def named(names: java.util.List[String]) = names.asScala.map(c => plan.output.find(_.name == c).get).toSeq
    Dataset.ofRows(session,
      if (ranges.isEmpty) RebalancePartitions(named(columns), plan, None, Some(bytes))
      else RepartitionByExpression(named(ranges).map(SortOrder(_, Ascending)), plan, None, Some(bytes)))
  }

  /**
   * Writes rows as files below `location`, in Hive's directories for `partitionColumns`, under names that
   * begin with `prefix`, and returns them as JSON: directory, path, bytes and time of change in milliseconds.
   *
   * @param target bytes after which another file is begun
   * @param rowBytes what a row may take in a file, until a file has been measured; 0 if unknown
   */
  def write(data: DataFrame, format: String, location: String, partitionColumns: java.util.List[String],
      prefix: String, target: Long, rowBytes: Double, options: java.util.Map[String, String]): String = {
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
        session, execution.executedPlan, new RollingFormat(fileFormat, protocol, target, rowBytes), protocol,
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

  /** Deletes files that nobody sees, and what they leave empty below `location`; tells of those it cannot delete. */
  def delete(session: SparkSession, location: String, paths: java.util.List[String]): java.util.List[String] =
    Leftovers.delete(new Path(location), paths.asScala.map(new Path(_)), session.sessionState.newHadoopConf()).asJava
}

/** Files that no commit will name. */
object Leftovers {
  def delete(location: Path, paths: Iterable[Path], conf: Configuration): Seq[String] = {
    val failed = paths.flatMap { path =>
      try {
        path.getFileSystem(conf).delete(path, false)
        None
      } catch { case NonFatal(e) => Some(s"$path: $e") }
    }.toSeq
    paths.map(_.getParent).toSet[Path].foreach(prune(location, _, conf))
    failed
  }

  /**
   * Directories are removed only where the system itself refuses to remove one that another writer has just used.
   * A link to a directory would go even if that is full.
   */
  private def prune(location: Path, directory: Path, conf: Configuration): Unit =
    directory.getFileSystem(conf) match {
      case local: LocalFileSystem =>
        val root = local.makeQualified(location)
        var at = local.makeQualified(directory)
        try while (at != root && at.toString.startsWith(root.toString + "/")) {
          val path = local.pathToFile(at).toPath
          if (Files.isSymbolicLink(path)) return
          Files.delete(path)
          at = at.getParent
        } catch { case _: IOException => () }
      case _ => ()
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

/** A format whose files end when they have reached the size aimed at; Spark itself can only count rows. */
class RollingFormat(inner: FileFormat, protocol: DirectCommitProtocol, target: Long, rowBytes: Double)
  extends FileFormat {
  override def inferSchema(session: SparkSession, options: Map[String, String], files: Seq[FileStatus]) =
    inner.inferSchema(session, options, files)
  override def supportDataType(dataType: DataType): Boolean = inner.supportDataType(dataType)
  override def supportFieldName(name: String): Boolean = inner.supportFieldName(name)
  override def prepareWrite(session: SparkSession, job: Job, options: Map[String, String],
      schema: StructType): OutputWriterFactory =
    new RollingFactory(inner.prepareWrite(session, job, options, schema), protocol, target, rowBytes)
}

/** Spark sends factory and protocol to a task together, so that both share what the task has learnt of its files. */
class RollingFactory(inner: OutputWriterFactory, val protocol: DirectCommitProtocol, val target: Long, rowBytes: Double)
  extends OutputWriterFactory {
  /** Bytes in a file for each row, and for each byte that rows take in memory. */
  private[parquetry] var (perRow, perByte) = if (rowBytes > 0) (rowBytes, 0.0) else (0.0, 0.5)

  override def getFileExtension(context: TaskAttemptContext): String = inner.getFileExtension(context)
  override def newInstance(path: String, schema: StructType, context: TaskAttemptContext): OutputWriter =
    new RollingWriter(path, this, inner.newInstance(_, schema, context), context)
}

class RollingWriter(override val path: String, factory: RollingFactory, open: String => OutputWriter,
    context: TaskAttemptContext) extends OutputWriter {
  private var writer = open(path)
  private var inMemory = 0L
  private var estimate = 0.0

  override def write(row: InternalRow): Unit = {
    if (estimate >= factory.target) roll()
    val bytes = row match {
      case unsafe: UnsafeRow => unsafe.getSizeInBytes
      case other => 8 * other.numFields
    }
    inMemory += bytes
    estimate += factory.perRow + factory.perByte * bytes
    writer.write(row)
  }

  private def roll(): Unit = {
    writer.close()
    val done = new Path(writer.path())
    factory.perRow = 0
    factory.perByte = done.getFileSystem(context.getConfiguration).getFileStatus(done).getLen.toDouble / inMemory
    inMemory = 0
    estimate = 0
    writer = open(factory.protocol.another(path))
  }

  override def close(): Unit = writer.close()
}

case class WrittenFile(directory: String, path: String, bytes: Long, modified: Long)

/**
 * Files are written where they will stay, under names never used before. Nobody sees them before the
 * metastore's commit names them, so nothing is moved and a failed attempt has only to be swept up.
 */
class DirectCommitProtocol(location: String, prefix: String) extends FileCommitProtocol with Serializable {
  private case class Begun(directory: String, suffix: String, name: String, path: Path)

  @transient private var files = Seq.empty[WrittenFile]
  @transient private var begun = ArrayBuffer.empty[Begun]

  def committed: Seq[WrittenFile] = files

  override def setupJob(job: JobContext): Unit = ()
  override def commitJob(job: JobContext, tasks: Seq[TaskCommitMessage]): Unit =
    files = tasks.flatMap(_.obj.asInstanceOf[Seq[WrittenFile]])

  /** On the driver: what tasks that ended well have written, should their job fail. */
  @transient private lazy val ended = new ConcurrentLinkedQueue[WrittenFile]()
  override def onTaskCommit(task: TaskCommitMessage): Unit =
    ended.addAll(task.obj.asInstanceOf[Seq[WrittenFile]].asJava)
  override def abortJob(job: JobContext): Unit =
    Leftovers.delete(new Path(location), ended.asScala.map(f => new Path(f.path)), job.getConfiguration)

  override def setupTask(task: TaskAttemptContext): Unit = begun = ArrayBuffer.empty

  override def newTaskTempFile(task: TaskAttemptContext, dir: Option[String], spec: FileNameSpec): String = {
    val id = task.getTaskAttemptID
    begin(dir.getOrElse(""), f"$prefix-${id.getTaskID.getId}%05d-${id.getId}", spec.suffix.replaceFirst("^[-.]c\\d+", ""))
  }
  override def newTaskTempFile(task: TaskAttemptContext, dir: Option[String], ext: String): String =
    newTaskTempFile(task, dir, FileNameSpec("", ext))
  override def newTaskTempFileAbsPath(task: TaskAttemptContext, dir: String, ext: String): String =
    throw new UnsupportedOperationException("partitions with a location of their own are written below the table")

  /** A further file for the rows of one that has become large enough. */
  def another(path: String): String = {
    val first = begun.reverseIterator.find(_.path.toString == path).get
    begin(first.directory, first.name, first.suffix)
  }

  private def begin(directory: String, name: String, suffix: String): String = {
    val folder = if (directory.isEmpty) new Path(location) else new Path(location, directory)
    val path = new Path(folder, f"$name-${begun.size}%04d$suffix")
    begun += Begun(directory, suffix, name, path)
    path.toString
  }

  override def commitTask(task: TaskAttemptContext): TaskCommitMessage = {
    // its job may have failed meanwhile, and would not hear of these files any more
    Option(TaskContext.get()).foreach(_.killTaskIfInterrupted())
    new TaskCommitMessage(begun.toSeq.map { file =>
      val status: FileStatus = file.path.getFileSystem(task.getConfiguration).getFileStatus(file.path)
      WrittenFile(file.directory, file.path.toString, status.getLen, status.getModificationTime)
    })
  }
  override def abortTask(task: TaskAttemptContext): Unit =
    Leftovers.delete(new Path(location), begun.map(_.path), task.getConfiguration)
}
