package org.apache.spark.sql.parquetry

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

/** Files without rows, for slots that have none: written by the driver, so that no other attempt writes them, too. */
class EmptyFiles(session: SparkSession, format: FileFormat, schema: StructType, options: Map[String, String]) {
  private final val Threads = 8

  /**
   * Writes a file for each directory of a partition below `location` and slot; all of them or none.
   *
   * @param prefix of the names, which no other write has
   */
  def write(location: String, prefix: String, places: Array[Place], slots: Seq[(String, Long)]): Seq[WrittenFile] = {
    val job = Job.getInstance(session.sessionState.newHadoopConfWithOptions(options))
    job.setOutputKeyClass(classOf[Void])
    job.setOutputValueClass(classOf[InternalRow])
    val factory = format.prepareWrite(session, job, CaseInsensitiveMap(options), schema)
    val conf = job.getConfiguration
    val suffix = factory.getFileExtension(context(conf))
    val files = slots.zipWithIndex.map { case ((directory, slot), i) =>
      val path = Place.of(places, slot).path(location, directory, slot, f"$prefix-empty-$i%04d", suffix)
      WrittenFile(directory, slot, path.toString, 0, 0)
    }
    try ThreadUtils.parmap(files, "parquetry-empty", Threads) { file =>
      factory.newInstance(file.path, schema, context(conf)).close()
      val path = new Path(file.path)
      val status = path.getFileSystem(conf).getFileStatus(path)
      file.copy(bytes = status.getLen, modified = status.getModificationTime)
    } catch { case NonFatal(e) =>
      Leftovers.delete(new Path(location), files.map(f => new Path(f.path)), conf)
      throw e
    }
  }

  private def context(conf: Configuration) =
    new TaskAttemptContextImpl(conf, new TaskAttemptID(new TaskID("empty", 0, TaskType.MAP, 0), 0))
}
