package org.apache.spark.sql.parquetry

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.parquetry.audit.AuditedRuns
import org.apache.spark.sql.parquetry.catalog.PlannerCatalog
import org.apache.spark.sql.parquetry.reports.FinishedQueries
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The catalog of a session: `spark.sql.catalog.<name>` names this class. */
class ParquetryCatalog extends PlannerCatalog {
  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = {
    SparkSeries.require()
    super.initialize(name, options)
    SparkSession.getActiveSession.orElse(SparkSession.getDefaultSession).map(_.sparkContext).foreach { context =>
      FinishedQueries.watch(context)
      AuditedRuns.watch(context)
    }
  }
}
