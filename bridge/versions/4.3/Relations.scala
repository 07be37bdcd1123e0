package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.analysis.NoSuchTableException
import org.apache.spark.sql.connector.catalog

/** Tables and views, as a catalog holds them. Not every version of Spark has views of catalogs. */
object Relations {
  type Relation = catalog.Relation
  trait RelationCatalog extends catalog.RelationCatalog {
    /** A table with its columns as Spark's rule expects them that has evolved it (`EvolvedColumns`). */
    protected def placed(table: catalog.Table): catalog.Table
    /** As Spark's default method does it, which Py4J does not find: it looks for methods of classes. */
    override def loadTable(ident: catalog.Identifier): catalog.Table = loadRelation(ident) match {
      case table: catalog.Table => table
      case _ => throw new NoSuchTableException(ident)
    }
  }
  type View = catalog.View
  def newView(): catalog.View.Builder = new catalog.View.Builder()
}
