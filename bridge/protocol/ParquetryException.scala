package org.apache.spark.sql.parquetry.protocol

import org.apache.spark.sql.AnalysisException

/**
 * An error of Parquetry. For Spark's users it is an analysis error whose condition is our code.
 *
 * @param sqlState the SQLSTATE that clients of SQL see; KD000 is Spark's own for data sources
 */
class ParquetryException(val code: String, text: String, sqlState: String = "KD000")
  extends AnalysisException(s"[PARQUETRY_$code] $text", None, None, None, Some(s"PARQUETRY_$code"), Map.empty, Array.empty) {
  override def getSqlState: String = sqlState
}
