package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.connector.catalog.TableCatalog

/** Says which options of a query of changes its loading needs. Before 4.3, Spark hands over all of them. */
trait ChangelogOptions extends TableCatalog
