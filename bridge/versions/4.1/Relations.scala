package org.apache.spark.sql.parquetry.versions

import java.util

import org.apache.spark.sql.catalyst.analysis.NoSuchTableException
import org.apache.spark.sql.connector.catalog.{Identifier, Table, TableCatalog}
import org.apache.spark.sql.types.StructType

/**
 * Tables and views, as a catalog holds them. Before Spark 4.2, it has no views of catalogs: these types stand
 * in for the types of later versions, and Spark asks no catalog for them.
 */
object Relations {
  type Relation = AnyRef

  trait RelationCatalog extends TableCatalog {
    def loadRelation(ident: Identifier): Relation
    /** A table with its columns as Spark's rule expects them that has evolved it (`EvolvedColumns`). */
    protected def placed(table: Table): Table
    override def loadTable(ident: Identifier): Table = loadRelation(ident) match {
      case table: Table => placed(table)
      case _ => throw new NoSuchTableException(ident)
    }

    /** Spark 4.1 refuses CREATE TABLE LIKE for tables of catalogs. */
    def createTableLike(ident: Identifier, info: Definitions.TableInfo, source: Table): Table

    def listViews(namespace: Array[String]): Array[Identifier]
    def createView(ident: Identifier, view: View): View
    def replaceView(ident: Identifier, view: View): View
    def createOrReplaceView(ident: Identifier, view: View): View
    def dropView(ident: Identifier): Boolean
    def renameView(from: Identifier, to: Identifier): Unit
  }

  /** A view as a catalog describes it; the object builds itself. */
  class View {
    private var known = Map.empty[String, Any]
    private def get[A](name: String): A = known.getOrElse(name, null).asInstanceOf[A]
    private def put(name: String, value: Any): this.type = {
      known += name -> value
      this
    }
    def build(): View = this
    def queryText(): String = get("queryText")
    def withQueryText(value: String): this.type = put("queryText", value)
    def currentCatalog(): String = get("currentCatalog")
    def withCurrentCatalog(value: String): this.type = put("currentCatalog", value)
    def currentNamespace(): Array[String] = get("currentNamespace")
    def withCurrentNamespace(value: Array[String]): this.type = put("currentNamespace", value)
    def sqlConfigs(): util.Map[String, String] = get("sqlConfigs")
    def withSqlConfigs(value: util.Map[String, String]): this.type = put("sqlConfigs", value)
    def schemaMode(): String = get("schemaMode")
    def withSchemaMode(value: String): this.type = put("schemaMode", value)
    def queryColumnNames(): Array[String] = get("queryColumnNames")
    def withQueryColumnNames(value: Array[String]): this.type = put("queryColumnNames", value)
    def schema(): StructType = get("schema")
    def withSchema(value: StructType): this.type = put("schema", value)
    def properties(): util.Map[String, String] = get("properties")
    def withProperties(value: util.Map[String, String]): this.type = put("properties", value)
  }
  def newView(): View = new View
}
