package org.apache.spark.sql.parquetry.audit

import org.json4s._

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.classic.{DataFrame, SparkSession => ClassicSession}
import org.apache.spark.sql.functions
import org.apache.spark.sql.parquetry.predicates.FieldPath
import org.apache.spark.sql.parquetry.protocol.AggregateAnswer
import org.apache.spark.sql.parquetry.table.ParquetryTable

/**
 * Computes once more, from rows, what the metastore has answered without them.
 *
 * @param answer of the metastore
 * @param calls the functions of the answer's columns, as the question has them
 * @param groupBy columns before the columns of the functions
 */
private class AnswerAudit(
    session: ClassicSession, audit: Audit, table: ParquetryTable, answer: AggregateAnswer, calls: Seq[JValue], groupBy: Seq[String]) {
  /** The whole result comes from the metastore. */
  def checkAll(rows: DataFrame): Unit = compare(result(rows), given)

  /**
   * A part of the result comes from the metastore, and the rest from rows that are read.
   *
   * @param read the rows that the query reads
   * @param all the rows that its conditions select
   */
  def checkPart(read: DataFrame, all: DataFrame): Unit = {
    val names = answer.schema.fieldNames.toSeq
    val schema = CharVarcharUtils.replaceCharVarcharWithStringInSchema(answer.schema)
    val parts = session.createDataFrame(java.util.Arrays.asList((given ++ result(read)): _*), schema)
    val combined = ScanAudit.collected(parts.agg(column(parts, 0), names.indices.drop(1).map(column(parts, _)): _*))
    compare(result(all), combined)
  }

  private def column(parts: DataFrame, at: Int): Column = {
    val part = parts.col(ScanAudit.quoted(answer.schema(at).name))
    name(calls(at)) match {
      case "count" => functions.sum(part)
      case "min" => functions.min(part)
      case _ => functions.max(part)
    }
  }

  private def given: Seq[Row] = {
    val toRow = CatalystTypeConverters.createToScalaConverter(answer.schema)
    answer.sparkRows.toSeq.map(toRow(_).asInstanceOf[Row])
  }

  private def result(rows: DataFrame): Seq[Row] = {
    val aggregates = calls.map { call =>
      val of = (call \ "column") match {
        case JString(name) => rows.col(FieldPath.parts(name).map(ScanAudit.quoted).mkString("."))
        case _ => functions.lit(1)
      }
      name(call) match {
        case "count" => functions.count(of)
        case "count_distinct" => functions.count_distinct(of)
        case "min" => functions.min(of)
        case _ => functions.max(of)
      }
    }
    val groups = groupBy.map(name => rows.col(ScanAudit.quoted(name)))
    val found =
      if (aggregates.isEmpty) rows.select(groups: _*).distinct()
      else rows.groupBy(groups: _*).agg(aggregates.head, aggregates.tail: _*)
    ScanAudit.collected(found)
  }

  private def name(call: JValue): String = (call \ "function") match {
    case JString(name) => name
    case other => throw new IllegalArgumentException(s"$other is no function")
  }

  /** A NaN equals itself here, and -0.0 is 0.0. */
  private def comparable(rows: Seq[Row]): Seq[Seq[Any]] = rows.map(_.toSeq.map {
    case number: Double => (number + 0.0).toString
    case number: Float => (number + 0.0f).toString
    case bytes: Array[Byte] => bytes.toSeq
    case null => null
    case other => other.toString
  })

  private def compare(fromRows: Seq[Row], fromMetastore: Seq[Row]): Unit = {
    if (comparable(fromRows).groupBy(identity).view.mapValues(_.length).toMap != comparable(fromMetastore).groupBy(identity).view.mapValues(_.length).toMap)
      throw AuditFailure.ofAnswer(audit.query, table, text, fromMetastore, fromRows)
    audit.hold("answers without files", 1)
  }

  private def text: String = calls.map { call =>
    s"${name(call)}(${(call \ "column") match { case JString(column) => FieldPath.shown(column); case _ => "*" }})"
  }.mkString(", ") + (if (groupBy.isEmpty) "" else groupBy.mkString(" by ", ", ", ""))
}
