package org.apache.spark.sql.parquetry.protocol

import org.json4s._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.internal.SQLConf

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
