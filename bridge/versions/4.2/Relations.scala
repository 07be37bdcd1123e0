package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.connector.catalog

/** What a catalog holds. Not every version of Spark has views of catalogs. */
object Relations {
  type Relation = catalog.Relation
  type RelationCatalog = catalog.RelationCatalog
  type View = catalog.View
  def newView(): catalog.View.Builder = new catalog.View.Builder()
}
