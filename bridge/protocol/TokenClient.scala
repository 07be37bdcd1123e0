package org.apache.spark.sql.parquetry.protocol

import java.net.InetAddress
import javax.net.SocketFactory

import py4j.{CallbackClient, Gateway, GatewayServer, Py4JPythonClient, PythonClient}

/**
 * The client through which Py4J calls Python. It sends a token before anything else on each connection.
 *
 * Py4J's own class takes a token, but forgets it in `copyWith`, which PySpark calls to change the port.
 */
private class TokenClient(server: GatewayServer, before: PythonClient, address: InetAddress, port: Int, token: String)
    extends PythonClient(server.getGateway, server.getCustomCommands, port, address, CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
      CallbackClient.DEFAULT_MIN_CONNECTION_TIME_UNIT, SocketFactory.getDefault, server, before.isMemoryManagementEnabled,
      before.getReadTimeout, token) {

  override def copyWith(address: InetAddress, port: Int): Py4JPythonClient =
    new TokenClient(server, this, address, port, token)
}

private object TokenClient {
  /**
   * Has a gateway call Python on a port, with a token. Connections in use (by a batch of a stream) stay open.
   */
  def putInto(server: GatewayServer, port: Int, token: String): Unit = {
    val client = server.getCallbackClient match {
      case pinned: PythonClient => new TokenClient(server, pinned, pinned.getAddress, port, token)
      case other: CallbackClient => // with PYSPARK_PIN_THREAD=false
        new CallbackClient(port, other.getAddress, token, CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
          CallbackClient.DEFAULT_MIN_CONNECTION_TIME_UNIT, SocketFactory.getDefault, other.isMemoryManagementEnabled, other.getReadTimeout)
    }
    // Py4J can replace the client only by resetCallbackClient, which takes no token.
    val field = classOf[Gateway].getDeclaredField("cbClient")
    field.setAccessible(true)
    field.set(server.getGateway, client)
  }
}
