package org.apache.spark.sql.parquetry

import org.json4s._

import org.apache.spark.sql.internal.SQLConf

/** The settings of the active session that are ours, which go with questions about reading and writing. */
object Settings {
  private val prefix = "parquetry."

  def field: JField = "settings" -> Json.strings(SQLConf.get.getAllConfs.filter(_._1.startsWith(prefix)))
}
