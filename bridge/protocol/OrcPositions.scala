package org.apache.spark.sql.parquetry.protocol

import org.apache.orc.OrcConf
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.internal.SQLConf

/** Whether the session reads ORC files by the position of columns: the planner's statistics are by name. */
private[protocol] object OrcPositions {
  private val Name = OrcConf.FORCE_POSITIONAL_EVOLUTION.getAttribute

  def used: Boolean = {
    val session = SQLConf.get.getConfString(Name, null)
    val hadoop = SparkSession.getActiveSession.map(_.sparkContext.hadoopConfiguration.get(Name)).orNull
    Option(session).orElse(Option(hadoop)).exists(_.trim.equalsIgnoreCase("true"))
  }
}
