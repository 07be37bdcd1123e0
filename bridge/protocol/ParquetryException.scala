package org.apache.spark.sql.parquetry.protocol

import org.apache.spark.sql.AnalysisException

/**
 * An error of Parquetry's, which Spark's users see as an analysis error with our code as its condition.
 *
 * @param sqlState as clients of SQL see it; KD000 is Spark's own for what a data source says
 */
class ParquetryException(val code: String, text: String, sqlState: String = "KD000")
  extends AnalysisException(s"[PARQUETRY_$code] $text", None, None, None, Some(s"PARQUETRY_$code"), Map.empty, Array.empty) {
  override def getSqlState: String = sqlState
}
