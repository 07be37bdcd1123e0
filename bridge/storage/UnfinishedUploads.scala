package org.apache.spark.sql.parquetry.storage

import java.io.FileNotFoundException
import java.lang.reflect.{InvocationTargetException, Method}
import java.time.Instant

import scala.util.control.NonFatal

import org.json4s._

import org.apache.hadoop.fs.{FileSystem, Path, RemoteIterator}

/**
 * Multipart uploads that were begun and neither completed nor ended. Their parts are invisible, and cost
 * money.
 *
 * Only `s3a` shows them, by methods of its own. Its jar is not on the bridge's class path, hence the
 * reflection. The methods are public in hadoop-aws 3.4 and 3.5. No other file system gets a request.
 */
private[storage] object UnfinishedUploads {
  /**
   * Returns JSON for each upload below a directory: `[key of its object, its id, when it began in
   * milliseconds]`.
   */
  def below(files: FileSystem, folder: Path): JArray = lister(files) match {
    case None => JArray(Nil)
    case Some(list) =>
      val prefix = files.makeQualified(folder).toUri.getPath.stripPrefix("/").stripSuffix("/")
      val found = call(list, files, prefix).asInstanceOf[RemoteIterator[AnyRef]]
      JArray(Iterator.unfold(found)(left => Option.when(left.hasNext)((left.next(), left))).map(facts).toList)
  }

  /**
   * Ends an upload, and returns the reason if that fails. An upload that has ended meanwhile is no failure.
   */
  def end(files: FileSystem, key: String, id: String): Option[String] =
    try {
      val writes = named(files, "getWriteOperationHelper")
      val invoker = files.getClass.getClassLoader.loadClass("org.apache.hadoop.fs.s3a.Invoker")
      val nothing = invoker.getField("NO_OP").get(null) // what it does at each retry
      val retried = invoker.getClassLoader.loadClass(s"${invoker.getName}$$Retried")
      val abort = writes.getClass.getMethod(
        "abortMultipartUpload", classOf[String], classOf[String], classOf[Boolean], retried)
      call(abort, writes, key, id, Boolean.box(true), nothing)
      None
    } catch {
      case _: FileNotFoundException => None
      case NonFatal(error) => Some(String.valueOf(error.getMessage))
    }

  private def lister(files: FileSystem): Option[Method] =
    try Some(files.getClass.getMethod("listUploads", classOf[String])) catch { case _: NoSuchMethodException => None }

  private def facts(upload: AnyRef): JValue = JArray(List(
    JString(named(upload, "key").toString),
    JString(named(upload, "uploadId").toString),
    JInt(named(upload, "initiated").asInstanceOf[Instant].toEpochMilli)))

  private def named(target: AnyRef, method: String): AnyRef = call(target.getClass.getMethod(method), target)

  private def call(method: Method, target: AnyRef, arguments: AnyRef*): AnyRef =
    try method.invoke(target, arguments: _*) catch { case error: InvocationTargetException => throw error.getCause }
}
