package org.apache.spark.sql.parquetry.datafiles

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse}

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.functions.monotonically_increasing_id
import org.apache.spark.sql.parquetry.hash.OrcTimes
import org.apache.spark.sql.types.{DataType, IntegerType, StructField, StructType}

/** Reads files that no commit names yet, as Spark's own readers do: an audit compares rows with records. */
object WrittenRows {
  /**
   * Returns the rows of some files. A column is added with the number of the row's file, from 0. Two more
   * columns, with the same name and `.block` or `.row`, give the order of the rows of a file.
   *
   * @param files JSON of a pair for each file: its path, and its bytes
   * @param schema JSON of the columns in the files, under their names there
   * @param number the name of the column of numbers
   * @param options of the write, which may name keys of encrypted files
   */
  def read(session: SparkSession, format: String, files: String, schema: String, number: String,
      options: java.util.Map[String, String]): DataFrame = {
    implicit val formats: Formats = DefaultFormats
    val own = session.asInstanceOf[classic.SparkSession]
    val conf = own.sessionState.newHadoopConf()
    val statuses = parse(files).children.map { each =>
      val path = new Path(each(0).extract[String])
      val system = path.getFileSystem(conf)
      val bytes = each(1).extract[Long]
      new FileStatus(bytes, false, 1, bytes, 0, path.makeQualified(system.getUri, system.getWorkingDirectory))
    }
    val columns = CharVarcharUtils.replaceCharVarcharWithStringInSchema(DataType.fromJson(schema).asInstanceOf[StructType])
    val strict = options.asScala.toMap ++ Map("ignoreCorruptFiles" -> "false", "ignoreMissingFiles" -> "false") ++ OrcTimes.calendar
    val index = new NumberedFiles(statuses, StructType(Seq(StructField(number, IntegerType, nullable = false))))
    val reader = if (format == "orc") new OrcFileFormat else new ParquetFileFormat
    val rows = own.baseRelationToDataFrame(HadoopFsRelation(index, index.partitionSchema, columns, None, reader, strict)(own))
    val block = rows.metadataColumn("_metadata").getField("file_block_start")
    rows.withColumns(Map(s"$number.block" -> block, s"$number.row" -> monotonically_increasing_id()))
  }

  /** Returns JSON of the rows of a query, which are numbers and texts. Listeners hear of the write alone. */
  def collect(data: DataFrame): String = {
    val execution = data.asInstanceOf[classic.Dataset[_]].queryExecution
    val types = execution.analyzed.output.map(_.dataType)
    // without a name, as in `FileWriter`
    val rows = SQLExecution.withNewExecutionId(execution)(execution.executedPlan.executeCollect())
    compact(JArray(rows.toList.map(row => JArray(types.zipWithIndex.map { case (t, i) =>
      row.get(i, t) match {
        case null => JNull
        case number: Int => JInt(number)
        case number: Long => JInt(number)
        case text => JString(text.toString)
      }
    }.toList))))
  }
}

/** Files that are each a partition of its own, whose one column is the file's number. */
private class NumberedFiles(files: Seq[FileStatus], override val partitionSchema: StructType) extends FileIndex {
  override def rootPaths: Seq[Path] = files.map(_.getPath)
  override def inputFiles: Array[String] = files.map(_.getPath.toString).toArray
  override def sizeInBytes: Long = files.map(_.getLen).sum
  override def refresh(): Unit = ()
  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    files.zipWithIndex.map { case (file, i) =>
      PartitionDirectory(new GenericInternalRow(Array[Any](i)): InternalRow, Seq(FileStatusWithMetadata(file)))
    }
}
