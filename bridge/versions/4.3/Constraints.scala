package org.apache.spark.sql.parquetry.versions

import org.json4s._

import org.apache.spark.sql.connector.catalog
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalogCapability, TableChange}
import org.apache.spark.sql.connector.catalog.TableChange.{AddConstraint, DropConstraint, UpdateColumnDefaultValue}
import org.apache.spark.sql.connector.catalog.constraints
import org.apache.spark.sql.connector.catalog.constraints.{Check, ForeignKey, PrimaryKey, Unique}
import org.apache.spark.sql.connector.catalog.constraints.Constraint.ValidationStatus
import org.apache.spark.sql.connector.expressions.{LogicalExpressions, NamedReference}
import org.apache.spark.sql.parquetry.protocol.{ConstraintAnswer, Json}

/** Tables as Spark defines them. */
object Definitions {
  type TableInfo = catalog.TableInfo
  type DefinedTable = catalog.Table
  type DefiningCatalog = catalog.StagingTableCatalog

  /** A column's new default value as SQL, or None if it has none any more. */
  def newDefault(update: UpdateColumnDefaultValue): Option[String] =
    Option.when(update.newCurrentDefault() != null)(update.newDefaultValue())
}

/** Encodes constraints of tables for the planner, and decodes the planner's. */
object Constraints {
  type Constraint = constraints.Constraint

  /** Whether Spark tests new rows by the constraints of their table. */
  val areEnforced: Boolean = true
  val capabilities: Seq[TableCatalogCapability] = Seq(TableCatalogCapability.SUPPORT_TABLE_CONSTRAINT)

  def ofTable(info: Definitions.TableInfo): JArray = JArray(Option(info.constraints()).toList.flatten.map(described))

  /** The kind and the fields of a change of constraints, or None if it is another change. */
  def changed(c: TableChange): Option[(String, Seq[JField])] = Some(c).collect {
    case a: AddConstraint => ("add_constraint", Seq("constraint" -> described(a.constraint()),
      "version" -> Option(a.validatedTableVersion()).map(JString(_)).getOrElse(JNull)))
    case d: DropConstraint => ("drop_constraint", Seq("name" -> JString(d.name()), "if_exists" -> JBool(d.ifExists())))
  }

  private def described(c: Constraint): JValue = {
    def paths(columns: Array[NamedReference]): JValue = JArray(columns.toList.map(r => Json.strings(r.fieldNames())))
    val (kind, fields) = c match {
      case check: Check => ("check", List[JField]("predicate" -> JString(check.predicateSql())))
      case key: PrimaryKey => ("primary_key", List[JField]("columns" -> paths(key.columns())))
      case key: Unique => ("unique", List[JField]("columns" -> paths(key.columns())))
      case key: ForeignKey =>
        val table = key.referencedTable()
        ("foreign_key", List[JField]("columns" -> paths(key.columns()),
          "references" -> Json.strings(table.namespace() :+ table.name()), "referenced" -> paths(key.referencedColumns())))
    }
    JObject(List[JField]("name" -> JString(c.name()), "kind" -> JString(kind), "enforced" -> JBool(c.enforced()),
      "rely" -> JBool(c.rely()), "status" -> JString(c.validationStatus().name())) ++ fields)
  }

  def fromAnswer(c: ConstraintAnswer): Constraint = {
    def references(paths: Seq[Seq[String]]): Array[NamedReference] = paths.map(LogicalExpressions.reference).toArray
    val status = ValidationStatus.valueOf(c.status)
    c.kind match {
      case "check" => constraints.Constraint.check(c.name).predicateSql(c.predicate.orNull)
        .enforced(c.enforced).rely(c.rely).validationStatus(status).build()
      case "primary_key" => constraints.Constraint.primaryKey(c.name, references(c.columns))
        .enforced(c.enforced).rely(c.rely).validationStatus(status).build()
      case "unique" => constraints.Constraint.unique(c.name, references(c.columns))
        .enforced(c.enforced).rely(c.rely).validationStatus(status).build()
      case "foreign_key" =>
        val table = Identifier.of(c.references.init.toArray, c.references.last)
        constraints.Constraint.foreignKey(c.name, references(c.columns), table, references(c.referenced))
          .enforced(c.enforced).rely(c.rely).validationStatus(status).build()
    }
  }
}
