package org.apache.spark.sql.parquetry.table

import org.json4s._

import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.connector.catalog.constraints._
import org.apache.spark.sql.connector.catalog.constraints.Constraint.ValidationStatus
import org.apache.spark.sql.connector.expressions.{LogicalExpressions, NamedReference}
import org.apache.spark.sql.parquetry.protocol.{ConstraintAnswer, Json}

/** Encodes constraints of tables for the planner, and decodes the planner's. */
object Constraints {
  def described(c: Constraint): JValue = {
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
      case "check" => Constraint.check(c.name).predicateSql(c.predicate)
        .enforced(c.enforced).rely(c.rely).validationStatus(status).build()
      case "primary_key" => Constraint.primaryKey(c.name, references(c.columns))
        .enforced(c.enforced).rely(c.rely).validationStatus(status).build()
      case "unique" => Constraint.unique(c.name, references(c.columns))
        .enforced(c.enforced).rely(c.rely).validationStatus(status).build()
      case "foreign_key" =>
        val table = Identifier.of(c.references.init.toArray, c.references.last)
        Constraint.foreignKey(c.name, references(c.columns), table, references(c.referenced))
          .enforced(c.enforced).rely(c.rely).validationStatus(status).build()
    }
  }
}
