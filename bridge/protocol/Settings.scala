package org.apache.spark.sql.parquetry.protocol

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.json4s._

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The settings of the active session that are ours, which go with questions about reading and writing. */
object Settings {
  private val prefix = "parquetry."

  private def all: Map[String, String] = SQLConf.get.getAllConfs.filter(_._1.startsWith(prefix))
  def field: JField = "settings" -> Json.strings(all)
  def isOurs(name: String): Boolean = name.startsWith(prefix)

  /** What the planner has looked at and found nothing wrong with: it is asked once. */
  private val checked = ConcurrentHashMap.newKeySet[(String, Map[String, String], Map[String, String])]()
  private val most = 1000

  /** Has the planner look at what a read is given: as a rule, nothing. */
  def check(use: String, options: CaseInsensitiveStringMap): Unit = check(use, all, options.asCaseSensitiveMap().asScala.toMap)
  /** Has it look at what a setting of the session is to be. */
  def checkValue(name: String, value: String): Unit = check("set", Map(name -> value), Map.empty)

  private def check(use: String, settings: Map[String, String], options: Map[String, String]): Unit = {
    val key = (use, settings, options)
    if ((settings.nonEmpty || options.nonEmpty) && !checked.contains(key)) {
      Bridge.check("use" -> JString(use), "settings" -> Json.strings(settings), "options" -> Json.strings(options))
      if (checked.size() >= most) checked.clear()
      checked.add(key)
    }
  }

  /**
   * Makes settings of sessions known to Spark: what cannot be used of one is told where it is set, by SET or `spark.conf.set`, and
   * the one before holds still, as with Spark's own.
   *
   * @param texts by the settings' names, what each does
   */
  def register(texts: java.util.Map[String, String]): Unit = texts.asScala.foreach { case (name, text) =>
    if (!SQLConf.containsConfigKey(name)) SQLConf.buildConf(name).doc(text).stringConf
      .transform { value => checkValue(name, value); value }.createOptional
  }
}
