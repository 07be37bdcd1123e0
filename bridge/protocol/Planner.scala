package org.apache.spark.sql.parquetry.protocol

import java.util.concurrent.TimeUnit

import scala.annotation.tailrec

import py4j.{GatewayServer, PythonClient}

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.parquetry.process.{PlannerProcess, PlannerStartException}

/**
 * The calls that Python answers. Questions and answers are JSON texts of one protocol version, so that they
 * can be recorded and replayed. The only object that is passed is the DataFrame of a write.
 */
trait Planner {
  def ask(question: String): String
  def write(question: String, data: Object): String
}

/**
 * The remains of an exception of Py4J's. Its message and causes have the whole question, and the secret
 * name of the planner's object.
 *
 * @param kind      the exception's class
 * @param wasRaised whether Python raised an exception, over a connection that works
 * @param refusal   why no connection could be opened, if so
 */
private case class LostAnswer(kind: String, wasRaised: Boolean, refusal: Option[String])

private object LostAnswer {
  /** The beginning of Py4J's message about an exception in Python. */
  private val raised = "An exception was raised by the Python Proxy"

  def from(error: Throwable): LostAnswer =
    LostAnswer(error.getClass.getName, Option(error.getMessage).exists(_.startsWith(raised)) || !isOfPy4J(error), refusal(error))

  /** Py4J's client without pinned threads wraps the error. */
  private def refusal(error: Throwable): Option[String] =
    Causes.of(error).collectFirst { case refused: PlannerConnectException => refused.getMessage }

  private def isOfPy4J(error: Throwable): Boolean = error.isInstanceOf[py4j.Py4JException] || error.isInstanceOf[java.io.IOException]
}

/**
 * A planner that answers.
 *
 * @param gateway Py4J's, through which it is called
 * @param process that this JVM started for it; None if a Python driver attached it
 */
private class AttachedPlanner(val planner: Planner, gateway: Option[PlannerGateway], process: Option[PlannerProcess]) {
  def in(process: PlannerProcess): AttachedPlanner = new AttachedPlanner(planner, gateway, Some(process))

  /** Whether it is the one that a process has attached, which has a token of its own. */
  def hasToken(token: String): Boolean = gateway.exists(_.token == token)

  def isAlive: Boolean = process.forall(_.isAlive)

  /** Whether its process has ended, or ends within a moment. A driver's process is the session's own. */
  def endsNow: Boolean = process.exists(_.endsNow)
  def isOfDriver: Boolean = process.isEmpty

  /** Removes what remains of a process that has ended. */
  def close(): Unit = process.foreach(_.forget())

  /** Has the connection of this thread send at once. */
  def sendAtOnce(): Unit = gateway.map(_.server.getCallbackClient).foreach {
    // Py4J writes long texts in parts of 8 kB; a small last part would wait 40 ms for the receipt of the
    // parts before
    case client: PythonClient => Option(client.getPerThreadConnection).flatMap(each => Option(each.getSocket)).filterNot(_.isClosed).foreach(_.setTcpNoDelay(true))
    case _ =>
  }
}

/**
 * Py4J's server whose client calls a planner.
 *
 * @param token its connections begin with it
 */
private case class PlannerGateway(server: GatewayServer, token: String)

/**
 * The planner in use: a Python driver has attached it, or a process that this JVM has started. A thread that
 * has asked a planner keeps it: another thread may have put a new one here meanwhile.
 */
private object PlannerInUse extends Logging {
  /** A statement waits this long for a process that answers: processes may be killed while they start. */
  private val patienceSeconds = 120L
  private val pauseMillis = 100L

  @volatile private var current = Option.empty[AttachedPlanner]
  @volatile private var connected = Option.empty[PlannerGateway]
  @volatile private var arrived = Option.empty[AttachedPlanner]
  @volatile private var isStarting = false
  @volatile private var count = 0
  def number: Int = count
  private val starting = new Object

  def deadline(): Long = System.nanoTime() + TimeUnit.SECONDS.toNanos(patienceSeconds)

  def connect(server: GatewayServer, token: String): Unit = connected = Some(PlannerGateway(server, token))
  def gateway: Option[GatewayServer] = connected.map(_.server)

  /** Takes a planner: of the process that is starting, or else of a driver. */
  def attach(planner: Planner): Unit = {
    val attached = Some(new AttachedPlanner(planner, connected, None))
    count += 1
    if (isStarting) arrived = attached else current = attached
  }

  /** Whether a planner is attached that answers. */
  def isAttached: Boolean = if (isStarting) arrived.isDefined else current.exists(_.isAlive)

  /**
   * Returns the planner in use. Starts one where there is none, or where its process has ended: it held
   * nothing but caches.
   */
  def get(deadline: Long): AttachedPlanner = current.filter(_.isAlive).getOrElse(start(deadline))

  private def start(deadline: Long): AttachedPlanner = starting.synchronized {
    current.filter(_.isAlive).getOrElse {
      val context = SparkSession.getActiveSession.orElse(SparkSession.getDefaultSession).map(_.sparkContext).getOrElse(throw noSession)
      current.foreach(_.close())
      arrived = None
      isStarting = true
      try {
        val process = started(context, deadline, 1)
        val attached = arrived.get.in(process)
        current = Some(attached)
        attached
      } finally {
        isStarting = false
        arrived = None
      }
    }
  }

  @tailrec private def started(context: SparkContext, deadline: Long, count: Int): PlannerProcess =
    (try Right(PlannerProcess.start(context, Bridge.version, token => arrived.exists(_.hasToken(token))))
    catch { case failed: PlannerStartException => Left(failed) }) match {
      case Right(process) => process
      case Left(failed) if !failed.wasKilled => throw new ParquetryException("PLANNER_NOT_STARTED", failed.getMessage)
      case Left(failed) if System.nanoTime() < deadline =>
        logWarning(s"The planner's process was ended while it started (${failed.why}); another one is started.")
        Thread.sleep(pauseMillis)
        started(context, deadline, count + 1)
      case Left(failed) => throw new ParquetryException("PLANNER_ENDED",
        s"The planner's process was ended from outside while it started, $count times within $patienceSeconds seconds (${failed.why}): this " +
          "statement did not take effect. Look for what ends it, such as the system's killer of processes that take too much memory, and run " +
          "the statement again.", "40003")
    }

  def noSession = new ParquetryException("NOT_ATTACHED",
    "There is no Spark session that a planner could be started for: make one with SparkSession.builder.")
}
