package org.apache.spark.sql.parquetry.audit

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.util.UUID

import org.json4s._
import org.json4s.jackson.JsonMethods.{pretty, render}

import org.apache.spark.SPARK_VERSION_SHORT
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, InSet}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.protocol.{AuditMode, Bridge, BridgeVersion, Json, ParquetryException}
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.values.InBoxes

/**
 * A claim that does not hold, in words, with a file that `parquetry audit` tries again.
 *
 * The file has the query's plan with its literals, the settings and the versions. Values of rows, and values
 * that joins found while the query ran, are only in it if the setting `parquetry.audit-values` is `on`.
 */
object AuditFailure {
  private val valuesSetting = "parquetry.audit-values"
  /** Characters of the conditions in a message; the file has all of them. */
  private val longest = 300
  private val settings = Seq("spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.adaptive.enabled",
    "spark.sql.shuffle.partitions", "spark.sql.autoBroadcastJoinThreshold", "spark.sql.caseSensitive")

  def ofFile(query: LogicalPlan, table: ParquetryTable, file: String, conditions: Seq[Expression], row: Row, steps: Seq[String]): ParquetryException =
    of(query, "files", s"File $file of ${table.name()} was left out${if (steps.isEmpty) "" else steps.mkString(" by pruning ", " or ", "")}, and a row of it satisfies ${
      text(conditions)}: ${key(row, conditions)}.", Some(table), Some(file), conditions, steps)

  def ofRows(
      query: LogicalPlan, table: ParquetryTable, file: String, conditions: Seq[Expression], read: Option[Long], all: Option[Long]): ParquetryException =
    of(query, "rows", s"Of file $file of ${table.name()}, ${read.getOrElse(0L)} rows that satisfy ${text(conditions)} were read, and the file has ${
      all.getOrElse(0L)}${if (read == all) ", of other values" else ""}.", Some(table), Some(file), conditions)

  def ofSettled(query: LogicalPlan, table: ParquetryTable, file: String, conditions: Seq[Expression], row: Row): ParquetryException =
    of(query, "settled", s"All rows read of file $file of ${table.name()} were said to satisfy ${text(conditions)}, and one does not: ${
      key(row, conditions)}.", Some(table), Some(file), conditions)

  def ofNeeded(query: LogicalPlan, table: ParquetryTable, file: String, row: Row): ParquetryException =
    of(query, "first rows", s"File $file of ${table.name()} was left out, since other files were said to have the first rows, and a row of it is one of them.",
      Some(table), Some(file), Nil)

  def ofAnswer(query: LogicalPlan, table: ParquetryTable, calls: String, answered: Seq[Row], computed: Seq[Row]): ParquetryException =
    of(query, "answer", s"The metastore answered $calls of ${table.name()} with ${shown(answered)}, and the rows give ${shown(computed)}.",
      Some(table), None, Nil)

  def ofWhole(query: LogicalPlan, own: Checksum, other: Checksum): ParquetryException =
    of(query, "query", s"The query gives ${own.rows} rows, and ${
      if (own.rows == other.rows) "as many, but others," else s"${other.rows} rows"} without Parquetry's rules.", None, None, Nil)

  def ofDelete(query: LogicalPlan, table: ParquetryTable, condition: Expression, removed: Long, matching: Long): ParquetryException =
    of(query, "delete", s"A DELETE from ${table.name()} removed $removed rows, and $matching rows satisfied ${text(Seq(condition))}: " +
      s"CALL ${table.ref.name}.system.rollback('${table.path.mkString(".")}', ${table.version()}) takes it back.", Some(table), None, Seq(condition))

  /** Writes the file of a row that is not where Spark expects it. A task has found the row. */
  def writeLocation(query: LogicalPlan, failed: RowElsewhere): Unit =
    write(content(query, "location", failed.words, None, None, Nil, Nil), Paths.get(failed.replay))

  private def of(
      query: LogicalPlan, claim: String, words: String, table: Option[ParquetryTable], file: Option[String], conditions: Seq[Expression],
      steps: Seq[String] = Nil): ParquetryException = {
    val path = write(content(query, claim, words, table, file, conditions, steps), newPath)
    new ParquetryException("AUDIT", s"$words ${remedy(path.toString)} " +
      s"The setting ${AuditMode.setting} audits queries; without it, this query would have returned its rows.")
  }

  /** Returns the remedy, for the message. */
  def remedy(path: String): String = s"Parquetry is wrong here: report it, with $path; `parquetry audit $path` tries it again."

  private def content(
      query: LogicalPlan, claim: String, words: String, table: Option[ParquetryTable], file: Option[String], conditions: Seq[Expression],
      steps: Seq[String]): JObject = JObject(
      "format" -> JInt(1),
      "parquetry" -> JString(BridgeVersion.version),
      "spark" -> JString(SPARK_VERSION_SHORT),
      "claim" -> JString(claim),
      "words" -> JString(words),
      "rules" -> Json.strings(steps),
      "catalog" -> table.fold[JValue](JNull)(each => JString(each.ref.name)),
      "table" -> table.fold[JValue](JNull)(each => Json.strings(each.path)),
      "id" -> table.fold[JValue](JNull)(each => JString(each.id())),
      "version" -> table.fold[JValue](JNull)(each => JString(each.version())),
      "file" -> file.fold[JValue](JNull)(JString(_)),
      "conditions" -> Json.strings(conditions.map(sql(_, hides = !showsValues))),
      "statement" -> statement(query).fold[JValue](JNull)(JString(_)),
      "plan" -> JString(query.toString),
      "settings" -> Json.strings(SQLConf.get.getAllConfs.filter { case (name, _) =>
        name.startsWith("parquetry.") || settings.contains(name) }))

  private def showsValues: Boolean = Set("on", "true")(SQLConf.get.getConfString(valuesSetting, "off").trim.toLowerCase)

  /** The name of a file for a failure; the file is not there yet. */
  def newPath: Path = Paths.get(System.getProperty("java.io.tmpdir"), "parquetry-audit", s"${UUID.randomUUID}.json")

  /** Writes the file of a failure, and counts the failure. */
  private def write(content: JObject, path: Path): Path = {
    Bridge.countFailedAudit()
    Files.createDirectories(path.getParent)
    val file = Files.createTempFile(path.getParent, "", ".part") // only its owner may read it
    Files.write(file, pretty(render(content)).getBytes(UTF_8))
    Files.move(file, path)
  }

  private def statement(plan: LogicalPlan): Option[String] = plan.collectFirst { case of if of.origin.sqlText.nonEmpty => of.origin.sqlText.get.trim }

  private def text(conditions: Seq[Expression]): String = {
    val all = if (conditions.isEmpty) "the query" else conditions.map(sql(_, hides = false)).mkString(" AND ")
    if (all.length <= longest) all else s"${all.take(longest)} …"
  }

  /** A condition as SQL. Without values, it says how many values a join found. */
  private def sql(condition: Expression, hides: Boolean): String = {
    val plain = condition.transform {
      case a: AttributeReference => a.withQualifier(Nil)
      case InSet(child, _) if hides => child
      case boxes: InBoxes if hides => boxes.condition
    }
    condition match {
      case InSet(_, values) if hides => s"${plain.sql} IN (${values.size} values of a join)"
      case _ => plain.sql
    }
  }

  /** The row's values of the columns that conditions name. */
  private def key(row: Row, conditions: Seq[Expression]): String = {
    val names = conditions.flatMap(_.references.map(_.name)).distinct
    val shown = if (names.isEmpty) row.schema.fieldNames.toSeq.filterNot(_ == ScanAudit.filePath).take(3) else names
    shown.map(name => s"$name = ${row.get(row.fieldIndex(name))}").mkString(", ") match {
      case text if text.length <= longest => text
      case text => s"${text.take(longest)} …"
    }
  }

  private def shown(rows: Seq[Row]): String = rows.take(3).map(_.toSeq.mkString("(", ", ", ")")).mkString(", ") + (if (rows.length > 3) ", …" else "")
}
