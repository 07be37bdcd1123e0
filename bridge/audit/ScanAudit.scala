package org.apache.spark.sql.parquetry.audit

import org.json4s._

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.classic.{DataFrame, Dataset, SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{BaseSubqueryExec, ExecSubqueryExpression, InSubqueryExec, ReusedSubqueryExec, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy
import org.apache.spark.sql.functions
import org.apache.spark.sql.parquetry.joingraph.KeyTuple
import org.apache.spark.sql.parquetry.predicates.BalancedChains
import org.apache.spark.sql.parquetry.protocol.{Json, ScanAnswer}
import org.apache.spark.sql.parquetry.runtime.{TimedSubquery, TupleSubquery}
import org.apache.spark.sql.parquetry.scan.{AuditScans, ParquetryScan}
import org.apache.spark.sql.parquetry.values.InBoxes
import org.apache.spark.sql.types.{BooleanType, StringType, StructField, StructType}

/**
 * Checks what a scan claims of files and rows: it reads the table's rows without a claim, and evaluates by
 * Spark what the scan was planned by.
 *
 * @param filters the runtime filters of the scan's node
 */
class ScanAudit(session: ClassicSession, audit: Audit, scan: ParquetryScan, filters: Seq[Expression]) {
  import ScanAudit._

  private val arrived = filters.flatMap(valuesOf)
  /** The runtime filters with their values, or None if Spark has no form for one of them. */
  private val runtime: Option[Seq[Expression]] = Option.when(arrived.forall(_.isDefined))(arrived.flatten.map(scan.table.numbered))
  private val order: Option[SortOrder] = scan.claimed.order.map(key => key.copy(child = scan.table.numbered(key.child)))

  def check(): Unit = scan.conditionsAsEvaluated.map(_.map(scan.table.numbered)) match {
    case None => audit.skip(s"files of ${scan.table.name()}: its conditions have no form that Spark evaluates")
    case Some(own) if !namesAll(own) => audit.skip(s"files of ${scan.table.name()}: Spark has no form for some conditions of its scan")
    case Some(own) =>
      if (runtime.isEmpty) audit.skip(s"values of joins with ${scan.table.name()}: Spark has no form for them")
      checkFiles(own ++ runtime.toSeq.flatten, if (runtime.isDefined) filters else Nil)
  }

  /** Whether conditions are on all columns that the scan's own predicates are on. */
  private def namesAll(conditions: Seq[Expression]): Boolean = {
    val names = conditions.flatMap(_.references.map(_.name)).toSet
    scan.predicates.forall(_.references().forall(reference => names(reference.fieldNames.head)))
  }

  private def checkFiles(conditions: Seq[Expression], filters: Seq[Expression]): Unit = {
    val known = conditions.filter(_.references.forall(a => scan.table.logical.fieldNames.contains(a.name)))
    val scans = new AuditScans(scan, known.flatMap(_.references.map(_.name)).toSet ++ order.toSeq.flatMap(_.references.map(_.name)))
    val kept = if (filters.isEmpty) scans.same.listed else scans.narrowed(filters)
    val (all, keptFiles) = (scans.files(scans.whole.listed), scans.files(kept))
    val leftOut = all -- keptFiles.keys
    if (leftOut.nonEmpty) checkLeftOut(scans, known, leftOut, AuditScans.steps(kept.report))
    if (keptFiles.nonEmpty) checkKept(scans, known, kept, keptFiles)
    val read = scans.files(if (filters.isEmpty) scan.listed else scan.readNow).keySet
    val unneeded = keptFiles -- read
    if (scan.needed.isDefined && unneeded.nonEmpty) checkNeeded(scans, known, keptFiles, unneeded)
    audit.hold("files left out", leftOut.size + (if (scan.needed.isDefined) unneeded.size else 0))
    audit.hold("scans", 1)
  }

  /** No row of a file that was left out satisfies all conditions. */
  private def checkLeftOut(scans: AuditScans, conditions: Seq[Expression], files: Map[String, String], steps: Seq[String]): Unit = {
    val matching = among(rows(scans, files), conditions)
    collected(matching.limit(1)).headOption.foreach { row =>
      val path = files.getOrElse(row.getAs[String](filePath), row.getAs[String](filePath))
      throw AuditFailure.ofFile(audit.query, scan.table, path, conditions, row, steps)
    }
  }

  /**
   * Reads the kept files as the query does, and once more without leaving out row groups, and opening each
   * file. Both must give the same rows.
   */
  private def checkKept(scans: AuditScans, conditions: Seq[Expression], kept: ScanAnswer, files: Map[String, String]): Unit = {
    val asRead = frame(ReadRows(session, scans.same, kept), scans.same.readSchema())
    def byFile(found: DataFrame): Map[String, (Long, Long, Long)] = {
      val hashed = scans.columns.fieldNames.toSeq.filterNot(name => isUnhashed(scans.columns(name).dataType))
        .flatMap(name => Seq(found.col(quoted(name)), found.col(quoted(name)).isNull))
      val hash = functions.xxhash64(functions.lit(0) +: hashed: _*) // a query of `_file` alone reads no column
      val counted = found.groupBy(found.col(filePath)).agg(
        functions.count(functions.lit(1)), functions.bit_xor(hash), functions.sum(functions.pmod(hash, functions.lit(modulus))))
      collected(counted).map(row => row.getString(0) -> (row.getLong(1), row.getLong(2), row.getLong(3))).toMap
    }
    val (own, all) = (byFile(among(asRead, conditions)), byFile(among(rows(scans, files), conditions)))
    if (own != all) {
      val path = (own.keySet ++ all.keySet).toSeq.sorted.find(path => own.get(path) != all.get(path)).get
      throw AuditFailure.ofRows(audit.query, scan.table, files.getOrElse(path, path), conditions, own.get(path).map(_._1), all.get(path).map(_._1))
    }
    checkSettled(asRead, conditions, files)
  }

  /** Conditions that Spark does not apply to rows hold for each row that is read. */
  private def checkSettled(read: DataFrame, conditions: Seq[Expression], files: Map[String, String]): Unit = {
    val exact = scan.settled.toSet
    val settled = conditions.filter(e => DataSourceV2Strategy.translateFilterV2(e).exists(found => exact(Json.ofExpression(found))))
    if (settled.nonEmpty) {
      val others = Dataset.ofRows(session, Filter(
        Not(Coalesce(Seq(bound(BalancedChains.all(settled).get, read), Literal(false)))), read.queryExecution.analyzed))
      collected(others.limit(1)).headOption.foreach { row =>
        val path = row.getAs[String](filePath)
        throw AuditFailure.ofSettled(audit.query, scan.table, files.getOrElse(path, path), settled, row)
      }
      audit.hold("settled conditions", settled.length)
    }
  }

  /** No row that the query does not need stands before the last one that it needs, or changes an answer. */
  private def checkNeeded(scans: AuditScans, conditions: Seq[Expression], kept: Map[String, String], unneeded: Map[String, String]): Unit = {
    val needed = scan.needed.get
    val read = among(rows(scans, kept -- unneeded.keys), conditions)
    def others = among(rows(scans, unneeded), conditions)
    scan.claimed.answered match {
      case Some((answer, calls)) => new AnswerAudit(session, audit, scan.table, answer, calls, Nil)
        .checkPart(read, among(rows(scans, kept), conditions))
      case None => (needed \ "first") match {
        case first: JObject =>
          val JInt(count) = first \ "count"
          val found = new FirstRows(session, count.toInt, first \ "ties" == JBool(true), first \ "distinct" == JBool(true), order).missing(read, others)
          found.foreach(row => throw AuditFailure.ofNeeded(audit.query, scan.table, unneeded.getOrElse(row.getAs[String](filePath), ""), row))
        case _ =>
      }
    }
  }

  private def rows(scans: AuditScans, files: Map[String, String]): DataFrame = {
    val answer = scans.whole.listedAt(files.values.toSeq)
    frame(ReadRows(session, scans.whole, answer), scans.whole.readSchema())
  }
}

object ScanAudit {
  /** The column that the audit's rows have besides the table's. */
  val filePath = "parquetry audit: file"
  private val modulus = 1000000007L

  def quoted(name: String): String = "`" + name.replace("`", "``") + "`"
  private def isUnhashed(dataType: org.apache.spark.sql.types.DataType): Boolean = dataType.existsRecursively {
    case _: org.apache.spark.sql.types.MapType | _: org.apache.spark.sql.types.VariantType => true
    case _ => false
  }

  /** A condition with the columns of a frame in place of a scan's columns of the same names. */
  def bound(e: Expression, frame: DataFrame): Expression = {
    val columns = frame.queryExecution.analyzed.output.map(a => a.name -> a).toMap
    def visit(e: Expression): Expression = e match {
      case a: AttributeReference => columns(a.name)
      case field @ GetStructField(child, ordinal, _) =>
        val name = child.dataType.asInstanceOf[StructType](ordinal).name
        val within = visit(child)
        field.copy(child = within, ordinal = within.dataType.asInstanceOf[StructType].fieldIndex(name))
      case other => other.mapChildren(visit)
    }
    visit(e)
  }

  def frame(rows: ReadRows, columns: StructType): DataFrame =
    rows.session.internalCreateDataFrame(rows, StructType(columns.fields :+ StructField(filePath, StringType)))

  /** The rows of a frame. Listeners of the user's queries do not see it, since it is none of them. */
  def collected(frame: DataFrame): Seq[Row] = {
    val toRow = CatalystTypeConverters.createToScalaConverter(frame.schema)
    internalRows(frame).map(toRow(_).asInstanceOf[Row])
  }
  def internalRows(frame: DataFrame): Seq[InternalRow] =
    SQLExecution.withNewExecutionId(frame.queryExecution)(frame.queryExecution.executedPlan.executeCollect()).toSeq

  /** The rows that satisfy all conditions. A condition that raises an error for a row does not count. */
  def among(found: DataFrame, conditions: Seq[Expression]): DataFrame =
    if (conditions.isEmpty) found
    else Dataset.ofRows(found.sparkSession, Filter(BalancedChains.all(conditions.map(e => TryEval(bound(e, found)): Expression)).get, found.queryExecution.analyzed))

  /**
   * A runtime filter with its values. It is None if the values have not arrived, so that nothing was left out
   * by them, and Some(None) if Spark has no form for it.
   */
  private def valuesOf(filter: Expression): Option[Option[Expression]] = InBoxes.arrived(filter) match {
    case DynamicPruningExpression(inner) => valuesOf(inner)
    case Literal(true, BooleanType) => None
    case in: InSubqueryExec => in.values().map { values =>
      val key = in.child match {
        case a: AttributeReference if a.dataType.isInstanceOf[StructType] && a.name.startsWith("(") =>
          tuple(in.plan).map(found => KeyTuple.structOf(found.columns))
        case other => Some(other)
      }
      key.map(InSet(_, values.toSet))
    }
    case other if other.exists(_.isInstanceOf[InSubqueryExec]) => Some(None)
    case other if other.exists(_.isInstanceOf[ExecSubqueryExpression]) => Some(None)
    case other => Some(Some(other))
  }

  private def tuple(plan: SparkPlan): Option[TupleSubquery] = plan match {
    case found: TupleSubquery => Some(found)
    case TimedSubquery(child, _, _, _) => tuple(child)
    case ReusedSubqueryExec(child) => tuple(child)
    case other: BaseSubqueryExec => other.children.flatMap(tuple).headOption
    case _ => None
  }
}
