package org.apache.spark.sql.parquetry.table

import org.json4s._

import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.TableChange._
import org.apache.spark.sql.parquetry.protocol.Json
import org.apache.spark.sql.parquetry.versions.{Constraints, Definitions}
import org.apache.spark.sql.types.{DataType, Metadata, StructField, StructType}

/** Encodes changes of tables for the planner. */
object Changes {
  private def change(kind: String, fields: JField*): JValue = JObject(("change" -> JString(kind)) :: fields.toList)
  def setProperty(key: String, value: String): JValue = change("set_property", "key" -> JString(key), "value" -> JString(value))
  def removeProperty(key: String): JValue = change("remove_property", "key" -> JString(key))

  def described(c: TableChange): JValue = {
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
      case s: SetProperty => setProperty(s.property(), s.value())
      case r: RemoveProperty => removeProperty(r.property())
      case a: AddColumn =>
        change("add_column", typed(a.dataType(), a.defaultValue()) ++ Seq[JField](column(a), "nullable" -> JBool(a.isNullable()),
          "comment" -> Option(a.comment()).map(JString(_)).getOrElse(JNull), position(a.position())): _*)
      case r: RenameColumn => change("rename_column", column(r), "to" -> JString(r.newName()))
      case u: UpdateColumnType => change("update_type", typed(u.newDataType()) :+ column(u): _*)
      case u: UpdateColumnNullability => change("update_nullability", column(u), "nullable" -> JBool(u.nullable()))
      case u: UpdateColumnComment => change("update_comment", column(u), "comment" -> JString(u.newComment()))
      case u: UpdateColumnDefaultValue =>
        change("update_default", column(u), "default" -> Definitions.newDefault(u).map(JString(_)).getOrElse(JNull))
      case u: UpdateColumnPosition => change("update_position", column(u), position(u.position()))
      case d: DeleteColumn => change("drop_column", column(d), "if_exists" -> JBool(d.ifExists()))
      case c: ClusterBy => change("cluster_by", "columns" -> JArray(c.clusteringColumns().toList.map(r => Json.strings(r.fieldNames()))))
      case other =>
        val (kind, fields) = Constraints.changed(other).getOrElse("other" -> Seq("text" -> JString(other.getClass.getSimpleName)))
        change(kind, fields: _*)
    }
  }

  /**
   * The metadata of a column with its default value, in the form of Spark's own tables, which Spark's readers
   * know.
   */
  def withDefault(metadata: Metadata, dataType: DataType, default: ColumnDefaultValue): Metadata =
    CatalogV2Util.v2ColumnsToStructType(Array(Column.create("column", dataType, true, null, default, metadata.json)))(0).metadata
}
