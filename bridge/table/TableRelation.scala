package org.apache.spark.sql.parquetry.table

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** A table in a plan. The fields of Spark's own pattern differ between its versions. */
object TableRelation {
  def unapply(found: DataSourceV2Relation): Some[Table] = Some(found.table)
}
