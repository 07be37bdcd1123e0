package org.apache.spark.sql.parquetry

import org.apache.spark.sql.parquetry.catalog.PlannerCatalog

/** The catalog of a session: `spark.sql.catalog.<name>` names this class. */
class ParquetryCatalog extends PlannerCatalog
