package org.apache.spark.sql.parquetry.process

import java.net.URL
import java.util.Enumeration

import org.apache.spark.SparkEnv
import org.apache.spark.util.MutableURLClassLoader

/**
 * Keeps the jars of `spark.jars` readable in a Thrift server.
 *
 * When a connection ends, Hive closes its class loader and the parents of that, up to Java's own
 * (`SessionState.close`; HIVE-22989). One of them is the loader of `spark.jars`, which the whole server has.
 * From then on statements of all connections end with `NoClassDefFoundError` if they need a class for the
 * first time. Hive leaves a loader alone whose parents do not lead to Java's own, so the thread that starts
 * the server gets such a loader, and its connections inherit it.
 */
object UnclosedJars {
  private val server = "HiveThriftServer2"
  private val settings = "hive.server2."

  /** Guards the jars where connections may come; called before Spark makes its own loaders. */
  def keepInServer(): Unit = Thread.currentThread.getContextClassLoader match {
    case _: Unclosed =>
    case jars: MutableURLClassLoader if isStartedAsServer || isConfiguredAsServer =>
      Thread.currentThread.setContextClassLoader(new Unclosed(jars))
    case _ =>
  }

  private def isStartedAsServer: Boolean = sys.props.getOrElse("sun.java.command", "").contains(server)

  /** Whether an application may start a server of its own: it has settings of one, such as its port. */
  private def isConfiguredAsServer: Boolean =
    Option(SparkEnv.get).exists(_.conf.getAll.exists { case (name, _) => name.contains(settings) })

  /** Finds what another loader finds, which is not its parent. */
  private final class Unclosed(jars: MutableURLClassLoader) extends MutableURLClassLoader(Array.empty, null) {
    override def loadClass(name: String, resolve: Boolean): Class[_] = jars.loadClass(name)
    override def getResource(name: String): URL = jars.getResource(name)
    override def getResources(name: String): Enumeration[URL] = jars.getResources(name)
    override def getURLs: Array[URL] = jars.getURLs
    override def addURL(url: URL): Unit = jars.addURL(url)
  }
}
