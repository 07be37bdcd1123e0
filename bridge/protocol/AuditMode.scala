package org.apache.spark.sql.parquetry.protocol

import scala.util.Try

import org.apache.spark.sql.internal.SQLConf

/**
 * Whether queries are audited: whether what Parquetry claims about rows is checked by the rows themselves.
 *
 * Two settings of a session decide. Users set `parquetry.audit`. An audit itself runs the same query once
 * more in a copy of the session, as a reference. The reference leaves out no file, and claims nothing.
 */
object AuditMode {
  val setting = "parquetry.audit"
  private val reference = "spark.parquetry.audit.reference"

  /** The share of queries that are audited, from 0 to 1. */
  def share: Double = SQLConf.get.getConfString(setting, "off").trim.toLowerCase match {
    case "off" | "false" => 0
    case "on" | "true" => 1
    case text => Try(text.toDouble).getOrElse(0)
  }
  def isOn: Boolean = SQLConf.get.contains(setting) && share > 0

  /** Whether this is the run of a query that another run is compared with. */
  def isReference: Boolean = SQLConf.get.contains(reference)
  /** The settings of a session whose queries are references. */
  val ofReference: Map[String, String] = Map(reference -> "true", setting -> "off")
}
