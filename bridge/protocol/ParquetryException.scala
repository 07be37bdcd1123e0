package org.apache.spark.sql.parquetry.protocol

import org.apache.spark.sql.AnalysisException

/** An error of Parquetry. For Spark's users it is an analysis error whose condition is our code. */
class ParquetryException(val code: String, text: String)
  extends AnalysisException(
    s"[PARQUETRY_$code] $text", None, None, None, Some(s"PARQUETRY_$code"), Map.empty, Array.empty)
