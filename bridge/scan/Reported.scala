package org.apache.spark.sql.parquetry

import org.json4s._

/** A scan that can say what it left out, and why. */
trait Reported { def report: JValue }
