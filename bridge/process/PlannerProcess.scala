package org.apache.spark.sql.parquetry.process

import java.io.IOException
import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.api.python.Py4JServer
import org.apache.spark.internal.Logging
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}

/**
 * A Python process that plans for the sessions of this JVM, where no Python process has started the JVM:
 * `spark-sql`, a Thrift server, a Spark Connect server, `spark-shell`, an application in Scala.
 *
 * It joins the running SparkContext over Py4J, with a secret, as `spark-submit` does it for applications in
 * Python (`PythonRunner`), and attaches the same planner as a Python driver does (`parquetry.spark.serve`).
 * It holds nothing but caches. Its standard input is a pipe from this JVM: when the JVM ends, however that
 * happens, the pipe closes and the process ends.
 */
final class PlannerProcess private (process: Process, server: Py4JServer, context: SparkContext) {
  def isAlive: Boolean = process.isAlive

  /**
   * Whether it has ended, or ends within a moment: its connections break a little before the process is gone.
   */
  def endsNow: Boolean = process.waitFor(PlannerProcess.endingSeconds, TimeUnit.SECONDS)

  /** Ends the gateway of a process that has ended, and its listener; does not wait for them. */
  def forget(): Unit = {
    val closing = new Thread(() => try { context.removeSparkListener(listener); stop() } catch { case NonFatal(_) => }, "parquetry-planner-closing")
    closing.setDaemon(true)
    closing.start()
  }

  private val listener = new SparkListener {
    override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = stop()
  }

  def stop(): Unit = {
    process.getOutputStream.close()
    if (!process.waitFor(PlannerProcess.stoppingSeconds, TimeUnit.SECONDS)) process.destroyForcibly()
    server.shutdown()
  }
}

object PlannerProcess extends Logging {
  private val endingSeconds = 2L
  private val stoppingSeconds = 5L
  /** Importing PySpark and Parquetry takes a second or two; a cold disk of a busy machine takes longer. */
  private val startingSeconds = 120L
  /** If a signal ended a process, Java's exit code is this number plus the signal's. */
  private val firstSignal = 128

  /**
   * Starts a process, and waits until it has attached its planner.
   *
   * @param version  the bridge's version; the process refuses to work with another one
   * @param attached takes a process's secret, and returns whether its planner is attached by now
   * @throws PlannerStartException with the interpreter that was tried, what it printed, and what to do
   */
  def start(context: SparkContext, version: String, attached: String => Boolean): PlannerProcess = {
    val python = Interpreter.of(context.getConf)
    val server = new Py4JServer(context.getConf)
    server.start()
    val builder = python.builder("-m", "parquetry.spark.serve", version).redirectErrorStream(true)
    builder.environment().put("PYSPARK_GATEWAY_PORT", server.getListeningPort.toString)
    builder.environment().put("PYSPARK_GATEWAY_SECRET", server.secret)
    val process =
      try builder.start()
      catch {
        case error: IOException =>
          server.shutdown()
          throw failed(python, version, s"it cannot be run: ${error.getMessage}")
      }
    val started = new PlannerProcess(process, server, context)
    val log = new ProcessLog(process.getInputStream)
    try {
      val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(startingSeconds)
      while (!attached(server.secret) && process.isAlive && System.nanoTime() < deadline) Thread.sleep(10)
    } catch {
      case interrupted: InterruptedException =>
        started.stop()
        throw interrupted
    }
    if (!attached(server.secret)) {
      val exit = Option.unless(process.isAlive)(process.exitValue)
      started.stop()
      val killed = exit.exists(_ > firstSignal)
      val why = exit.fold(s"it did not answer within $startingSeconds seconds")(code =>
        if (killed) s"signal ${code - firstSignal} ended it" else s"it ended with exit code $code")
      throw failed(python, version, why, killed, s":\n${log.tail()}")
    }
    context.addSparkListener(started.listener)
    logWarning(s"Parquetry $version plans in process ${process.pid} (${python.path}), which was started for this application.")
    started
  }

  private def failed(python: Interpreter, version: String, why: String, killed: Boolean = false, printed: String = "") =
    new PlannerStartException(
      s"The planner is a Python process, and ${python.path} (named by ${python.namedBy}) could not start it: $why$printed\n" +
        s"Install Parquetry there (${python.path} -m pip install 'parquetry[spark]==$version'), or name an interpreter that has it " +
        s"in ${Interpreter.setting}.", why, killed)
}

/**
 * Says why a planner's process could not be started.
 *
 * @param why       in a few words
 * @param wasKilled whether a signal ended it, from outside; then another try may succeed
 */
class PlannerStartException(message: String, val why: String, val wasKilled: Boolean) extends Exception(message)
