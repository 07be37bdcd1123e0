package org.apache.spark.sql.parquetry.process

import java.io.InputStream
import java.nio.charset.StandardCharsets

import scala.collection.mutable
import scala.io.Source

import org.apache.spark.internal.Logging

/**
 * Passes what a process prints on to Spark's log, line by line, and keeps the last lines for an error's
 * message.
 */
private class ProcessLog(output: InputStream) extends Logging {
  private val last = mutable.Queue.empty[String]

  override protected def logName: String = "org.apache.spark.sql.parquetry.planner"

  private val reader = new Thread(() => Source.fromInputStream(output, StandardCharsets.UTF_8.name).getLines().foreach(take), "parquetry-planner-log")
  reader.setDaemon(true)
  reader.start()

  private def take(line: String): Unit = {
    last.synchronized {
      last += line
      if (last.size > ProcessLog.keptLines) last.dequeue()
    }
    // as `parquetry.spark.serve` begins its lines
    if (line.startsWith("ERROR ")) logError(line.stripPrefix("ERROR "))
    else if (line.startsWith("WARNING ")) logWarning(line.stripPrefix("WARNING "))
    else logInfo(line)
  }

  /** The last lines, when the process has ended and all of them are read. */
  def tail(): String = {
    reader.join(1000)
    last.synchronized(last.mkString("\n"))
  }
}

private object ProcessLog {
  /** Lines: the end of a Python traceback has the error and where it was raised. */
  val keptLines = 20
}
