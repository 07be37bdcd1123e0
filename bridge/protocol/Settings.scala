package org.apache.spark.sql.parquetry.protocol

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.orc.OrcConf
import org.json4s._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Parquetry's settings in the active session. They go with questions about reading and writing. */
object Settings {
  private val prefix = "parquetry."

  // Spark's own method copies all settings of the session
  private def all: Map[String, String] = {
    val settings = SQLConf.get.settings
    settings.synchronized(settings.asScala.iterator.filter(_._1.startsWith(prefix)).toMap)
  }
  def field: JField = "settings" -> Json.strings(all)
  def isOurs(name: String): Boolean = name.startsWith(prefix)

  /**
   * Settings and options that the planner has found valid, so that it checks them once. At most `most`
   * entries.
   */
  private val checked = ConcurrentHashMap.newKeySet[(String, Map[String, String], Map[String, String])]()
  private val most = 1000

  /** Has the planner check the session's settings and the options of a read; most reads have none. */
  def check(use: String, options: CaseInsensitiveStringMap): Unit = check(use, all, options.asCaseSensitiveMap().asScala.toMap)
  /** Has the planner check a new value of a session's setting. */
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
   * Makes Parquetry's session settings known to Spark. So SET and `spark.conf.set` refuse an invalid value,
   * and the old value remains, as with Spark's own settings.
   *
   * @param texts what each setting does, by its name
   */
  def register(texts: java.util.Map[String, String]): Unit = texts.asScala.foreach { case (name, text) =>
    if (!SQLConf.containsConfigKey(name)) SQLConf.buildConf(name).doc(text).stringConf
      .transform { value => checkValue(name, value); value }.createOptional
  }
}

/** Whether the session reads ORC files by the position of columns: the planner's statistics are by name. */
private[protocol] object OrcPositions {
  private val Name = OrcConf.FORCE_POSITIONAL_EVOLUTION.getAttribute

  def used: Boolean = {
    val session = SQLConf.get.getConfString(Name, null)
    val hadoop = SparkSession.getActiveSession.map(_.sparkContext.hadoopConfiguration.get(Name)).orNull
    Option(session).orElse(Option(hadoop)).exists(_.trim.equalsIgnoreCase("true"))
  }
}

/**
 * An engine that runs plans outside of the JVM. Each takes a scan for its own if it is Spark's scan of files.
 *
 * @param name for reports
 * @param classes the package of its rules
 * @param setting turns it off if it is `false`
 */
case class NativeEngine(name: String, classes: String, setting: String)

object NativeEngine {
  private val all = Seq(
    NativeEngine("Comet", "org.apache.comet.", "spark.comet.enabled"),
    NativeEngine("Gluten", "org.apache.gluten.", "spark.gluten.enabled"),
    NativeEngine("RAPIDS", "com.nvidia.spark.rapids.", "spark.rapids.sql.enabled"))

  /** The engine whose rules a session has, unless a setting turns it off. */
  def of(session: SparkSession): Option[NativeEngine] = session match {
    case classic: ClassicSession =>
      val rules = classic.sessionState.columnarRules.map(_.getClass.getName)
      all.find(engine => rules.exists(_.startsWith(engine.classes)) &&
        classic.sessionState.conf.getConfString(engine.setting, "true").trim.toLowerCase != "false")
    case _ => None
  }

  /** Settings of Spark that change which column of a file is read for a column of a table. */
  private val matching = Seq(SQLConf.CASE_SENSITIVE, SQLConf.PARQUET_FIELD_ID_READ_ENABLED)

  /** The question's field about the engine. The planner decides which scans it may read. */
  def question(session: SparkSession): JField = "engine" -> JObject(
    "name" -> of(session).fold[JValue](JNull)(engine => JString(engine.name)),
    "matching" -> Json.strings(matching.filter(SQLConf.get.getConf(_)).map(_.key)))
}
