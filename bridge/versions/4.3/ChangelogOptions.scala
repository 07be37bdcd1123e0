package org.apache.spark.sql.parquetry.versions

import java.util

import org.apache.spark.sql.connector.catalog.TableCatalog

/** Says which options of a query of changes its loading needs. Spark hands over no others. */
trait ChangelogOptions extends TableCatalog {
  override def changelogStateOptionKeys(): util.Set[String] = util.Set.of("keys")
}
