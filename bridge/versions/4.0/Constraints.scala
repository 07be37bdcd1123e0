package org.apache.spark.sql.parquetry.versions

import java.util

import org.json4s._

import org.apache.spark.sql.connector.catalog.{
  Column, Identifier, StagedTable, StagingTableCatalog, Table, TableCatalogCapability, TableChange}
import org.apache.spark.sql.connector.catalog.TableChange.UpdateColumnDefaultValue
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.parquetry.protocol.ConstraintAnswer
import org.apache.spark.sql.types.StructType

/** Tables as Spark defines them. These types stand in for the types of later versions. */
object Definitions {
  class TableInfo(ofColumns: Array[Column], ofPartitions: Array[Transform], ofProperties: util.Map[String, String]) {
    def columns(): Array[Column] = ofColumns
    def partitions(): Array[Transform] = ofPartitions
    def properties(): util.Map[String, String] = ofProperties
  }

  /** A table; Spark 4.0 asks it for none of these. */
  trait DefinedTable extends Table {
    def id(): String
    def version(): String
    def constraints(): Array[Constraints.Constraint]
  }

  /**
   * A catalog that gets a table's definition in one piece; Spark 4.0 hands it over in parts. It does not ask
   * for a list of procedures.
   */
  trait DefiningCatalog extends StagingTableCatalog {
    def listProcedures(namespace: Array[String]): Array[Identifier]
    def createTable(ident: Identifier, info: TableInfo): Table
    def stageCreate(ident: Identifier, info: TableInfo): StagedTable
    def stageReplace(ident: Identifier, info: TableInfo): StagedTable
    def stageCreateOrReplace(ident: Identifier, info: TableInfo): StagedTable

    override def createTable(ident: Identifier, columns: Array[Column], partitions: Array[Transform], properties: util.Map[String, String]): Table =
      createTable(ident, new TableInfo(columns, partitions, properties))
    override def stageCreate(ident: Identifier, columns: Array[Column], partitions: Array[Transform], properties: util.Map[String, String]): StagedTable =
      stageCreate(ident, new TableInfo(columns, partitions, properties))
    override def stageReplace(ident: Identifier, columns: Array[Column], partitions: Array[Transform], properties: util.Map[String, String]): StagedTable =
      stageReplace(ident, new TableInfo(columns, partitions, properties))
    override def stageCreateOrReplace(
        ident: Identifier, columns: Array[Column], partitions: Array[Transform], properties: util.Map[String, String]): StagedTable =
      stageCreateOrReplace(ident, new TableInfo(columns, partitions, properties))
  }

  /** A column's new default value as SQL, or None if it has none any more. */
  def newDefault(update: UpdateColumnDefaultValue): Option[String] = Option(update.newDefaultValue()).filter(_.nonEmpty)
}

/** Constraints of tables. Spark 4.0 has none: no statement adds them, and rows are not tested. */
object Constraints {
  type Constraint = ConstraintAnswer

  val areEnforced: Boolean = false
  val capabilities: Seq[TableCatalogCapability] = Nil

  def ofTable(info: Definitions.TableInfo): JArray = JArray(Nil)
  def changed(c: TableChange): Option[(String, Seq[JField])] = None
  def fromAnswer(c: ConstraintAnswer): Constraint = c
}
