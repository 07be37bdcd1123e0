package org.apache.spark.sql.parquetry.catalog

import java.util

import scala.jdk.CollectionConverters._

import org.json4s._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{InternalRow, TableIdentifier}
import org.apache.spark.sql.connector.catalog.CatalogManager
import org.apache.spark.sql.connector.catalog.procedures._
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.parquetry.metadata.RowsScan
import org.apache.spark.sql.parquetry.protocol.{CallAnswer, CatalogRef, Json, ProcedureAnswer}
import org.apache.spark.sql.parquetry.table.Cached
import org.apache.spark.sql.types.{DataType, StructField, StructType}

/**
 * `CALL catalog.system.name(…)`: the planner defines parameters, columns and rows. Only Spark binds a
 * procedure, once all arguments are resolved. If it were bound before, Spark would count the arguments before
 * it has put them into their positions.
 */
class ParquetryProcedure(ref: CatalogRef, answer: ProcedureAnswer) extends UnboundProcedure {
  override def name(): String = answer.name
  override def description(): String = answer.description
  override def bind(inputType: StructType): BoundProcedure = new CalledProcedure(ref, answer)
}

class CalledProcedure(ref: CatalogRef, answer: ProcedureAnswer) extends BoundProcedure {
  override def name(): String = answer.name
  override def description(): String = answer.description
  override def isDeterministic: Boolean = false

  override val parameters: Array[ProcedureParameter] = answer.parameters.map { p =>
    val parameter = ProcedureParameter.in(p.name, DataType.fromDDL(p.`type`)).comment(p.comment)
    p.default.foreach(sql => parameter.defaultValue(sql))
    parameter.build()
  }.toArray

  override def call(input: InternalRow): util.Iterator[Scan] = {
    val schema = StructType(parameters.map(p => StructField(p.name(), p.dataType())))
    val current = SparkSession.active.sessionState.catalogManager
    val given = schema.fieldNames.toList.zip(arguments(input, schema))
    val result = try ref.ask("call", "name" -> JString(name()),
      "arguments" -> JObject(given),
      "folder" -> folder(given.toMap).fold[JValue](JNothing)(JString(_)),
      "current_catalog" -> JString(current.currentCatalog.name()),
      "current_namespace" -> Json.strings(current.currentNamespace)).as[CallAnswer]
    catch { case error: Throwable if ref.transaction.isDefined && ends(name()) =>
      ref.transaction = None
      throw error
    }
    result.transaction.foreach(id => ref.transaction = Some(id).filter(_.nonEmpty))
    Cached.refresh(ref, result.changed)
    Iterator[Scan](new RowsScan(result.schema, result.sparkRows, name())).asJava
  }

  /** The folder of a table of Spark's own catalog, if the procedure takes a folder in a table's place. */
  private def folder(given: Map[String, JValue]): Option[String] = given.get("table").filter(_ => given.contains("path")).collect {
    case JString(name) =>
      val session = SparkSession.active.sessionState
      session.sqlParser.parseMultipartIdentifier(name) match {
        case Seq(catalog, database, table) if catalog.equalsIgnoreCase(CatalogManager.SESSION_CATALOG_NAME) && ref.name != catalog =>
          Some(session.catalog.getTableMetadata(TableIdentifier(table, Some(database))).location.toString)
        case _ => None
      }
  }.flatten

  /** Whether a procedure ends the session's transaction of several tables, even by an error. */
  private def ends(procedure: String): Boolean = procedure == "commit" || procedure == "rollback"

  private def arguments(input: InternalRow, schema: StructType): List[JValue] =
    schema.fields.zipWithIndex.toList.map { case (f, i) =>
      if (input.isNullAt(i)) JNull
      else f.dataType match {
        case org.apache.spark.sql.types.ArrayType(element, _) =>
          JArray(input.getArray(i).toSeq[Any](element).map(Json.ofValue(_, element)).toList)
        case t => Json.ofValue(input.get(i, t), t)
      }
    }
}
