package org.apache.spark.sql.parquetry.scan

import org.json4s._

/** A scan that can say what it left out, and why. */
trait Reported { def report: JValue }

/** A scan that was planned by conditions of the query. */
trait Asked { def asked: Seq[JValue] }
