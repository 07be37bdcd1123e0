package org.apache.spark.sql.parquetry.table

import org.json4s._

import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.TableChange._
import org.apache.spark.sql.parquetry.protocol.Json
import org.apache.spark.sql.types.{DataType, Metadata, StructField, StructType}

/** Encodes changes of tables for the planner. */
object Changes {
  def described(c: TableChange): JValue = {
    def change(kind: String, fields: JField*): JValue = JObject(("change" -> JString(kind)) :: fields.toList)
    def column(c: ColumnChange): JField = "column" -> Json.strings(c.fieldNames())
    // a type's own JSON has no collations: they are in the metadata of the field
    def typed(t: DataType, default: ColumnDefaultValue = null): Seq[JField] = {
      val metadata = withDefault(Metadata.empty, t, default)
      val field = (Json.ofType(StructType(Seq(StructField("column", t, true, metadata)))) \ "fields")(0)
      Seq("type" -> (field \ "type"), "metadata" -> (field \ "metadata"))
    }
    def position(p: ColumnPosition): JField = "position" -> (p match {
      case null => JNull
      case after: After => JString(after.column())
      case _ => JString("")
    })
    c match {
      case s: SetProperty => change("set_property", "key" -> JString(s.property()), "value" -> JString(s.value()))
      case r: RemoveProperty => change("remove_property", "key" -> JString(r.property()))
      case a: AddColumn =>
        change("add_column", typed(a.dataType(), a.defaultValue()) ++ Seq[JField](column(a), "nullable" -> JBool(a.isNullable()),
          "comment" -> Option(a.comment()).map(JString(_)).getOrElse(JNull), position(a.position())): _*)
      case r: RenameColumn => change("rename_column", column(r), "to" -> JString(r.newName()))
      case u: UpdateColumnType => change("update_type", typed(u.newDataType()) :+ column(u): _*)
      case u: UpdateColumnNullability => change("update_nullability", column(u), "nullable" -> JBool(u.nullable()))
      case u: UpdateColumnComment => change("update_comment", column(u), "comment" -> JString(u.newComment()))
      case u: UpdateColumnDefaultValue => change("update_default", column(u),
        "default" -> (if (u.newCurrentDefault() == null) JNull else JString(u.newDefaultValue())))
      case u: UpdateColumnPosition => change("update_position", column(u), position(u.position()))
      case d: DeleteColumn => change("drop_column", column(d), "if_exists" -> JBool(d.ifExists()))
      case c: ClusterBy => change("cluster_by", "columns" -> JArray(c.clusteringColumns().toList.map(r => Json.strings(r.fieldNames()))))
      case a: AddConstraint => change("add_constraint", "constraint" -> Constraints.described(a.constraint()),
        "version" -> Option(a.validatedTableVersion()).map(JString(_)).getOrElse(JNull))
      case d: DropConstraint => change("drop_constraint", "name" -> JString(d.name()), "if_exists" -> JBool(d.ifExists()))
      case other => change("other", "text" -> JString(other.getClass.getSimpleName))
    }
  }

  /**
   * The metadata of a column with its default value, in the form of Spark's own tables, which Spark's readers
   * know.
   */
  def withDefault(metadata: Metadata, dataType: DataType, default: ColumnDefaultValue): Metadata =
    CatalogV2Util.v2ColumnsToStructType(Array(Column.create("column", dataType, true, null, default, metadata.json)))(0).metadata
}
