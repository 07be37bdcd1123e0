package org.apache.spark.sql.parquetry

import org.json4s._

/** `count(*)`, `min` and `max` that the metastore answered alone. */
class MetadataScan(table: ParquetryTable, answer: JValue)
  extends RowsScan(Json.struct(answer \ "schema"), answer \ "rows", Json.text(answer \ "description")) with Reported {
  override def report: JValue = answer \ "report"
}
