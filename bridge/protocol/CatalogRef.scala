package org.apache.spark.sql.parquetry.protocol

import org.json4s._

import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A catalog as the planner knows it: its name in the session, and the options of its configuration. */
case class CatalogRef(name: String, options: CaseInsensitiveStringMap) {
  def ask(op: String, fields: JField*): JValue = Bridge.ask(this, op, fields: _*)
}
