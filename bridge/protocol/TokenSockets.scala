package org.apache.spark.sql.parquetry.protocol

import java.io.{BufferedReader, IOException, InputStreamReader}
import java.net.{InetAddress, InetSocketAddress, Socket}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import javax.net.SocketFactory

import scala.jdk.CollectionConverters._
import scala.util.Try

import py4j.Protocol

/**
 * Connects to Python, and sends a token before anything else.
 *
 * Py4J itself waits without a limit for the answer to its token. A process that cannot accept a connection,
 * such as one at its limit of open files, never gives that answer.
 *
 * @param python the id of the Python process
 */
private class TokenSockets(token: String, python: Long) extends SocketFactory {
  import TokenSockets._

  override def createSocket(address: InetAddress, port: Int): Socket = {
    val socket = new Socket()
    try {
      socket.connect(new InetSocketAddress(address, port), PatienceMillis)
      socket.setSoTimeout(PatienceMillis)
      // Py4J writes long texts in parts of 8 kB; a small last part would wait 40 ms for the receipt of the
      // parts before
      socket.setTcpNoDelay(true)
      socket.getOutputStream.write(Protocol.getAuthCommand(token).getBytes(UTF_8))
      // the answer is one line, and Python sends nothing more before it is called
      val answer = new BufferedReader(new InputStreamReader(socket.getInputStream, UTF_8)).readLine()
      if (answer != Protocol.getOutputVoidCommand.trim) throw new IOException(if (answer == null) "it closed the connection" else "it refused the token")
      socket.setSoTimeout(0)
      socket
    } catch {
      case error: IOException =>
        Try(socket.close())
        throw new PlannerConnectException(message(error), error)
    }
  }

  private def message(error: IOException): String = {
    val own = Option(error.getMessage).exists(_.contains("Too many open files")) // of this JVM
    val (process, id) = if (own) ("This JVM", ProcessHandle.current().pid()) else ("The planner's Python process", python)
    val reason = Option(error.getMessage).getOrElse(error.getClass.getSimpleName)
    s"$process (pid $id) can open no connection for a question ($reason); ${remedy(id)}"
  }

  private def remedy(id: Long): String = {
    val raise = s"Start it with a higher limit of open files (ulimit -n $SuggestedLimit), and look for what keeps files open (ls -l /proc/$id/fd)."
    openFiles(id) match {
      case Some((open, limit)) if open >= limit - FewFiles => s"it has $open of at most $limit files open. $raise"
      case Some((open, limit)) => s"it has $open of at most $limit files open, so look at its load and its log, and run the statement again."
      case None => s"it may be at its limit of open files. $raise"
    }
  }

  override def createSocket(host: String, port: Int): Socket = createSocket(InetAddress.getByName(host), port)
  override def createSocket(host: String, port: Int, local: InetAddress, localPort: Int): Socket = createSocket(host, port)
  override def createSocket(address: InetAddress, port: Int, local: InetAddress, localPort: Int): Socket = createSocket(address, port)
}

private object TokenSockets {
  /** Milliseconds: a process that has much to do accepts a connection within a few seconds. */
  private val PatienceMillis = 20 * 1000
  private val SuggestedLimit = 65536
  /** Open files: a process with no more than so many left is at its limit. */
  private val FewFiles = 4

  /** The number of a process's open files, and its soft limit, where the system shows them. */
  private def openFiles(process: Long): Option[(Long, Long)] = Try {
    val folder = Path.of(s"/proc/$process")
    val entries = Files.list(folder.resolve("fd"))
    val open = try entries.count() finally entries.close()
    val limit = Files.readAllLines(folder.resolve("limits")).asScala.find(_.startsWith("Max open files")).get
    (open, limit.split("\\s+")(3).toLong)
  }.toOption
}

/** Says that Python could not be connected to for a question, which was not asked. */
private class PlannerConnectException(message: String, cause: Throwable) extends RuntimeException(message, cause)
