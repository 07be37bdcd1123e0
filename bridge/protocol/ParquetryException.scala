package org.apache.spark.sql.parquetry.protocol

import org.apache.spark.sql.AnalysisException

/** An error of Parquetry's, told to Spark's users as an analysis error with our code as its condition. */
class ParquetryException(val code: String, text: String)
  extends AnalysisException(
    s"[PARQUETRY_$code] $text", None, None, None, Some(s"PARQUETRY_$code"), Map.empty, Array.empty)
