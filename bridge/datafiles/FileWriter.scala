package org.apache.spark.sql.parquetry.datafiles

import java.util.Base64

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.ParquetOutputFormat
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Alias, Ascending, EqualTo, If, Literal, OctetLength, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{Project, RebalancePartitions, RepartitionByExpression}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources.{FileFormat, FileFormatWriter}
import org.apache.spark.sql.parquetry.protocol.SessionCopies
import org.apache.spark.sql.types.{BinaryType, StringType, StructType}

/**
 * Used by the planner's write pipeline: arranges rows, writes them where they will stay, deletes uncommitted
 * files.
 */
object FileWriter {
  /**
   * Shuffles rows so that equal values of `columns` come together. If `ranges` is not empty, rows that are
   * near each other in its order come together instead; it names columns and fields of structs as SQL does.
   *
   * Adaptive execution splits shuffled partitions of more than `bytes`, and packs smaller ones, as `settings`
   * say. The settings hold for this write alone, in a copy of the session.
   */
  def cluster(data: DataFrame, columns: java.util.List[String], ranges: java.util.List[String],
      bytes: Long, settings: java.util.Map[String, String]): DataFrame = {
    val rows = data.asInstanceOf[Dataset[_]]
    val session = SessionCopies.of(rows.sparkSession, settings.asScala.toMap)
    val plan = rows.queryExecution.analyzed
    def column(name: String) = plan.output.find(_.name == name).get
    def field(name: String) = plan.resolveQuoted(name, (one, other) => one == other).get match {
      case Alias(of, _) => of
      case column => column
    }
    Dataset.ofRows(session,
      if (ranges.isEmpty) RebalancePartitions(columns.asScala.map(column).toSeq, plan, None, Some(bytes))
      else RepartitionByExpression(ranges.asScala.map(n => SortOrder(field(n), Ascending)).toSeq, plan, None, Some(bytes)))
  }

  /**
   * Writes rows as files below `location`, in Hive's directories for `partitionColumns`. The names of the
   * files contain `prefix`.
   *
   * The result is JSON. For each file it has the directory, the slot, the path, the bytes, and the time of
   * change in milliseconds. If the task has sent the footer (`WrittenFooters`), it has the footer in Base64.
   * It has `whole_texts` if Parquet's minima and maxima of texts are values of rows.
   *
   * @param elsewhere the locations of partitions that are not at their default directories, by these
   *   directories
   * @param places JSON of slot directories; if there are several, the last of `partitionColumns` is the
   *   slot's number
   * @param target bytes after which another file is begun
   * @param rowBytes estimated bytes of a row in a file, until a file has been measured; 0 if unknown
   * @param tasks how many tasks write at most, each the rows of consecutive tasks of the query; 0 if every
   *   task writes
   * @param onePartition whether all rows belong to one partition
   */
  def write(data: DataFrame, format: String, location: String, elsewhere: java.util.Map[String, String],
      partitionColumns: java.util.List[String],
      places: String, prefix: String, target: Long, rowBytes: Double, tasks: Int, onePartition: Boolean,
      options: java.util.Map[String, String]): String = {
    val rows = withPartitionColumns(data.asInstanceOf[Dataset[_]], options)
    val session = rows.sparkSession
    val execution = rows.queryExecution
    val output = execution.analyzed.output
    val protocol = new DirectCommitProtocol(Folders(location, elsewhere.asScala.toMap), prefix, SlotDirectory.read(places))
    val settings = options.asScala.toMap
    val partitioned = partitionColumns.asScala.map(c => output.find(_.name == c).get).toSeq
    // a plan's node takes the active session of the thread that creates it, and there may be none
    val plan = if (tasks > 0) session.withActive(TasksInOrderExec(tasks, execution.executedPlan)) else execution.executedPlan
    val conf = session.sessionState.newHadoopConfWithOptions(settings)
    // without a name: Spark notifies listeners of each named execution, and of the statement once is enough
    SQLExecution.withNewExecutionId(execution) {
      FileFormatWriter.write(
        session, plan, new RollingFormat(format, formatOf(format), protocol, target, rowBytes), protocol,
        FileFormatWriter.OutputSpec(location, Map.empty, output),
        conf,
        partitioned, None, Nil, settings,
        numStaticPartitionCols = if (onePartition) partitioned.size else 0) // rows of static partitions are not sorted
    }
    encoded(protocol.committed, wholeTexts(conf))
  }

  /**
   * Writes files without rows, and returns the same JSON as `write`.
   *
   * @param data has the files' columns and the partition columns
   * @param slots JSON of one pair a file: the partition's directory below `location`, and the slot
   */
  def writeEmpty(data: DataFrame, format: String, location: String, elsewhere: java.util.Map[String, String],
      partitionColumns: java.util.List[String],
      places: String, prefix: String, slots: String, options: java.util.Map[String, String]): String = {
    implicit val formats: Formats = DefaultFormats
    val rows = data.asInstanceOf[Dataset[_]]
    val all = rows.queryExecution.analyzed.schema
    val repeated = repeatedColumns(options).flatMap(name => all.find(_.name == name))
    val schema = StructType(all.filterNot(f => partitionColumns.contains(f.name)) ++ repeated)
    val asked = parse(slots).children.map(each => (each(0).extract[String], each(1).extract[Long]))
    encoded(new EmptyFiles(rows.sparkSession, format, formatOf(format), schema, options.asScala.toMap)
      .write(Folders(location, elsewhere.asScala.toMap), prefix, SlotDirectory.read(places), asked), wholeTexts = true)
  }

  /** The option of a write: JSON of the partition columns that the files have, too. */
  private val RepeatedColumns = "parquetry.partition-columns-in-files"

  private def repeatedColumns(options: java.util.Map[String, String]): Seq[String] = {
    implicit val formats: Formats = DefaultFormats
    Option(options.get(RepeatedColumns)).fold(Seq.empty[String])(parse(_).extract[Seq[String]])
  }

  /**
   * Adds partition columns a second time, behind the others, if the files are to have them. An empty text is
   * NULL there, as in the name of its directory.
   */
  private def withPartitionColumns(rows: Dataset[_], options: java.util.Map[String, String]): Dataset[_] = {
    val plan = rows.queryExecution.analyzed
    val repeated = repeatedColumns(options).map { name =>
      val column = plan.output.find(_.name == name).get
      val value = column.dataType match {
        case _: StringType | BinaryType => If(EqualTo(OctetLength(column), Literal(0)), Literal(null, column.dataType), column)
        case _ => column
      }
      Alias(value, name)()
    }
    if (repeated.isEmpty) rows else Dataset.ofRows(rows.sparkSession, Project(plan.output ++ repeated, plan))
  }

  private def formatOf(name: String): FileFormat = name match {
    case "orc" => new NumberedOrc
    case _ => new StatisticsFriendlyParquet
  }

  /** Whether Parquet's writers leave minima and maxima of texts whole. The file itself does not say it. */
  private def wholeTexts(conf: Configuration): Boolean =
    conf.get(ParquetOutputFormat.STATISTICS_TRUNCATE_LENGTH, Int.MaxValue.toString) == Int.MaxValue.toString

  private def encoded(files: Seq[WrittenFile], wholeTexts: Boolean): String =
    compact(JArray(files.map { f => JObject(
      "directory" -> JString(f.directory), "slot" -> JInt(f.slot), "path" -> JString(f.path),
      "bytes" -> JInt(f.bytes), "modified" -> JInt(f.modified), "whole_texts" -> JBool(wholeTexts),
      "footer" -> f.footer.fold[JValue](JNothing)(bytes => JString(Base64.getEncoder.encodeToString(bytes))))
    }.toList))

  /**
   * Deletes uncommitted files, and the directories below `location` that this leaves empty. Returns a message
   * for each file that cannot be deleted.
   */
  def delete(session: SparkSession, location: String, paths: java.util.List[String]): java.util.List[String] =
    UncommittedFiles.delete(new Path(location), paths.asScala.map(new Path(_)), session.sessionState.newHadoopConf()).asJava
}
