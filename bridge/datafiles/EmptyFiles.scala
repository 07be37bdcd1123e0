package org.apache.spark.sql.parquetry.datafiles

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{Job, TaskAttemptID, TaskID, TaskType}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.ThreadUtils

/**
 * Writes files without rows, for slots that have no rows. The driver writes them, so that no second attempt
 * does.
 */
class EmptyFiles(session: SparkSession, name: String, format: FileFormat, schema: StructType, options: Map[String, String]) {
  private final val Threads = 8

  /**
   * Writes one file for each pair of a partition's directory and a slot: all of them, or none.
   *
   * @param prefix of the files' names; no other write uses it
   */
  def write(folders: Folders, prefix: String, places: Array[SlotDirectory], slots: Seq[(String, Long)]): Seq[WrittenFile] = {
    val job = Job.getInstance(session.sessionState.newHadoopConfWithOptions(options))
    job.setOutputKeyClass(classOf[Void])
    job.setOutputValueClass(classOf[InternalRow])
    val factory = format.prepareWrite(session, job, CaseInsensitiveMap(options), schema)
    val conf = job.getConfiguration
    val suffix = factory.getFileExtension(context(conf))
    val files = slots.zipWithIndex.map { case ((directory, slot), i) =>
      val path = SlotDirectory.find(places, slot).path(folders(directory), slot, f"$prefix-empty-$i%04d", suffix)
      WrittenFile(directory, slot, path.toString, 0, 0)
    }
    try {
      // all files are alike, so one is made and its bytes are written again
      files.take(1).flatMap { first =>
        val recording = new RecordingConfiguration(conf)
        factory.newInstance(first.path, schema, context(recording)).close()
        val (made, footer) = WrittenFooters.take(name, new Path(first.path), recording).get
        val content = if (made.length == made.tail.length) made.tail else read(made.path, conf)
        measured(first, footer, conf) +: ThreadUtils.parmap(files.drop(1), "parquetry-empty", Threads) { file =>
          val path = new Path(file.path)
          val files = path.getFileSystem(conf)
          Using.resource(NewFile.create(files, path, files.create(path, false)))(_.write(content))
          measured(file, footer, conf)
        }
      }
    } catch { case NonFatal(e) =>
      UncommittedFiles.delete(folders.root, files.map(f => new Path(f.path)), conf)
      throw e
    }
  }

  private def read(path: Path, conf: Configuration): Array[Byte] =
    Using.resource(path.getFileSystem(conf).open(path))(_.readAllBytes())

  private def measured(file: WrittenFile, footer: Option[Array[Byte]], conf: Configuration): WrittenFile = {
    val path = new Path(file.path)
    val status = path.getFileSystem(conf).getFileStatus(path)
    file.copy(bytes = status.getLen, modified = status.getModificationTime, footer = footer)
  }

  private def context(conf: Configuration) =
    new TaskAttemptContextImpl(conf, new TaskAttemptID(new TaskID("empty", 0, TaskType.MAP, 0), 0))
}
