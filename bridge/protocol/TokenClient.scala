package org.apache.spark.sql.parquetry.protocol

import java.net.InetAddress
import javax.net.SocketFactory

import py4j.{CallbackClient, Gateway, GatewayServer, Py4JPythonClient, PythonClient}

/**
 * What Py4J asks Python through, with a token that it says before anything else on each connection.
 *
 * Py4J's own class takes a token, but its `copyWith` forgets it, with which PySpark changes the port.
 */
private class TokenClient(server: GatewayServer, before: PythonClient, address: InetAddress, port: Int, token: String)
    extends PythonClient(server.getGateway, server.getCustomCommands, port, address, CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
      CallbackClient.DEFAULT_MIN_CONNECTION_TIME_UNIT, SocketFactory.getDefault, server, before.isMemoryManagementEnabled,
      before.getReadTimeout, token) {

  override def copyWith(address: InetAddress, port: Int): Py4JPythonClient =
    new TokenClient(server, this, address, port, token)
}

private object TokenClient {
  /** Has a gateway ask Python on a port, with a token. Connections that are in use (by a batch of a stream) go on. */
  def putInto(server: GatewayServer, port: Int, token: String): Unit = {
    val client = server.getCallbackClient match {
      case pinned: PythonClient => new TokenClient(server, pinned, pinned.getAddress, port, token)
      case other: CallbackClient => // with PYSPARK_PIN_THREAD=false
        new CallbackClient(port, other.getAddress, token, CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
          CallbackClient.DEFAULT_MIN_CONNECTION_TIME_UNIT, SocketFactory.getDefault, other.isMemoryManagementEnabled, other.getReadTimeout)
    }
    // Py4J has nothing that puts another client in its place but resetCallbackClient, which takes no token.
    val field = classOf[Gateway].getDeclaredField("cbClient")
    field.setAccessible(true)
    field.set(server.getGateway, client)
  }
}
