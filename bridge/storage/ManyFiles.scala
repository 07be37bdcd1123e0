package org.apache.spark.sql.parquetry.storage

import scala.reflect.ClassTag

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

/** Reads something of each of many files: the driver does if they are few, executors if they are many. */
private[parquetry] object ManyFiles {
  /** Files that the driver reads; a Spark job costs more than this many requests. */
  private val ByDriver = 256

  /** Files for each task. */
  private val PerTask = 64

  /**
   * Applies a function to each path, several at a time, and returns the results in order. Files on a local
   * disk are the driver's.
   */
  def read[B: ClassTag](session: SparkSession, paths: Seq[Path])(function: (Path, Configuration) => B): Seq[B] = {
    val conf = session.sessionState.newHadoopConf()
    if (paths.size <= ByDriver || isLocal(paths.head)) HadoopFiles.parallel(paths)(function(_, conf))
    else {
      val context = session.sparkContext
      val sent = context.broadcast(new SerializableConfiguration(conf))
      try context.parallelize(paths.map(_.toString), (paths.size / PerTask).min(4 * context.defaultParallelism).max(1))
        .mapPartitions { names => HadoopFiles.parallel(names.toSeq)(name => function(new Path(name), sent.value.value)).iterator }
        .collect().toSeq
      finally sent.destroy()
    }
  }

  private def isLocal(path: Path): Boolean = Option(path.toUri.getScheme).forall(_.equalsIgnoreCase("file"))
}
