package org.apache.spark.sql.parquetry.storage

import java.util.Locale
import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.SparkSession

/** The Hadoop file systems of a session, with all that its settings and configuration files say of them. */
private[storage] object HadoopFiles {
  /** Requests that are made at a time. */
  private val Threads = 16

  /**
   * The schemes of object stores: a directory there is no more than the beginning of the names of objects.
   */
  private val ObjectStores = Set("s3a", "s3", "s3n", "gs", "oss", "cosn", "obs", "ks3", "tos", "swift")

  def of(session: SparkSession, path: Path): FileSystem = path.getFileSystem(session.sessionState.newHadoopConf())

  /** Whether a path is in an object store, where nothing has to be done for a directory. */
  def isObjectStore(path: Path): Boolean =
    Option(path.toUri.getScheme).exists(scheme => ObjectStores.contains(scheme.toLowerCase(Locale.ROOT)))

  /** Applies a function to each of many values, several at a time, and returns the results in order. */
  def parallel[A, B](values: Seq[A])(function: A => B): Seq[B] =
    if (values.size < 2) values.map(function)
    else {
      val pool = Executors.newFixedThreadPool(Threads.min(values.size))
      try {
        val tasks = values.map(value => new Callable[B] { override def call(): B = function(value) })
        pool.invokeAll(tasks.asJava).asScala.map(_.get()).toSeq
      } finally pool.shutdown()
    }
}
