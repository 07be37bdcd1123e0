package org.apache.spark.sql.parquetry.protocol

/** An error and its causes, the error first. Spark wraps what tasks and subqueries raise. */
object Causes {
  def of(e: Throwable): Iterator[Throwable] = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(most)
  private val most = 20
}
