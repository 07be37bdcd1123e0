package org.apache.spark.sql.parquetry.protocol

import java.net.InetAddress

import py4j._

/**
 * The client through which Py4J calls Python, with connections that threads take and give back.
 *
 * Py4J's own class opens a connection for each thread, and never closes the connection of a thread that has
 * ended. Spark asks on threads of its pools, which end after some seconds without work. So a connection is
 * lent to a thread for one call, and for the calls within it: Python calls back on the same connection, and
 * what it calls may ask again. A thread that Python has called keeps its own connection.
 *
 * There are as many connections as calls at one time, and a few idle ones. No call waits for the connection
 * of another one: a write may ask again on other threads before it ends.
 *
 * Py4J's own class also forgets its token in `copyWith`, which PySpark calls to change the port.
 */
private class TokenClient(server: GatewayServer, before: PythonClient, address: InetAddress, port: Int, sockets: TokenSockets)
    extends PythonClient(server.getGateway, server.getCustomCommands, port, address, CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
      CallbackClient.DEFAULT_MIN_CONNECTION_TIME_UNIT, sockets, server, before.isMemoryManagementEnabled,
      before.getReadTimeout) {

  private val idle = new IdleConnections

  override def copyWith(address: InetAddress, port: Int): Py4JPythonClient =
    new TokenClient(server, this, address, port, sockets)

  override def sendCommand(command: String, blocking: Boolean): String =
    if (Option(getPerThreadConnection).exists(_.getSocket != null)) super.sendCommand(command, blocking)
    else {
      val lent = idle.take().getOrElse(open())
      setPerThreadConnection(lent)
      var answered = false
      try {
        val answer = super.sendCommand(command, blocking)
        answered = true
        answer
      } finally {
        threadConnection.remove()
        // after an error such as a stack overflow, the answer may be yet to come: the next call would take it
        if (!answered && lent.getSocket != null) lent.shutdown()
        idle.giveBack(lent)
      }
    }

  /** Not within `getConnection`, where a lock is held that all calls need. */
  private def open(): ClientServerConnection = {
    val connection = new ClientServerConnection(gateway, sockets.createSocket(address, port), customCommands, this, javaServer, readTimeout)
    connection.setInitiatedFromClient(true)
    connection
  }

  /** Keeps the connections that Python has opened, which their ends remove. Others are lent. */
  override protected def giveBackConnection(connection: Py4JClientConnection): Unit = connection match {
    case lent: ClientServerConnection if lent.isInitiatedFromClient =>
    case other => super.giveBackConnection(other)
  }

  override def shutdown(): Unit = {
    idle.close()
    super.shutdown()
  }
}

/** Connections that no thread uses. The one given back last is taken first. */
private class IdleConnections {
  import IdleConnections._

  private val connections = new java.util.ArrayDeque[Idle]
  private var isClosed = false

  def take(): Option[ClientServerConnection] = synchronized(Option(connections.pollLast())).map(_.connection)

  /**
   * Keeps a connection, unless it is closed or there are enough. Closes connections that were idle for long.
   */
  def giveBack(connection: ClientServerConnection): Unit = {
    val now = System.nanoTime()
    val unneeded = synchronized {
      if (connection.getSocket != null) connections.addLast(Idle(connection, now))
      val old = Iterator.continually(connections.peekFirst())
        .takeWhile(first => first != null && (isClosed || connections.size > MaxIdle || now - first.since > MaxIdleNanos))
        .map(_ => connections.pollFirst().connection)
      old.toList
    }
    unneeded.foreach(_.shutdown())
  }

  def close(): Unit = {
    val all = synchronized {
      isClosed = true
      Iterator.continually(connections.pollFirst()).takeWhile(_ != null).toList
    }
    all.foreach(_.connection.shutdown())
  }
}

private object IdleConnections {
  /** Connections: each has a thread in Python, with a connection to the store. More are opened and closed. */
  private val MaxIdle = 32
  /** Nanoseconds: a minute. */
  private val MaxIdleNanos = 60L * 1000 * 1000 * 1000

  private case class Idle(connection: ClientServerConnection, since: Long)
}

private object TokenClient {
  /**
   * Has a gateway call Python on a port, with a token. Connections in use (by a batch of a stream) stay open.
   */
  def putInto(server: GatewayServer, port: Int, sockets: TokenSockets): Unit = {
    val client = server.getCallbackClient match {
      case pinned: PythonClient => new TokenClient(server, pinned, pinned.getAddress, port, sockets)
      case other: CallbackClient => // with PYSPARK_PIN_THREAD=false; it lends connections by itself
        new CallbackClient(port, other.getAddress, null, CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
          CallbackClient.DEFAULT_MIN_CONNECTION_TIME_UNIT, sockets, other.isMemoryManagementEnabled, other.getReadTimeout)
    }
    // Py4J can replace the client only by resetCallbackClient, which takes no token.
    val field = classOf[Gateway].getDeclaredField("cbClient")
    field.setAccessible(true)
    field.set(server.getGateway, client)
  }
}
