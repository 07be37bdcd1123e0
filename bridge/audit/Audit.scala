package org.apache.spark.sql.parquetry.audit

import scala.collection.mutable
import scala.util.control.NonFatal

import org.json4s._

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{LocalTableScanExec, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.filescans.{PlanNodes, ScanNode}
import org.apache.spark.sql.parquetry.predicates.FieldPath
import org.apache.spark.sql.parquetry.protocol.{AuditMode, SessionCopies}
import org.apache.spark.sql.parquetry.scan.{AnsweredCalls, AuditScans, MetadataScan, ParquetryScan}
import org.apache.spark.sql.types.StructType

/**
 * The claims of one query, and what their checks found.
 *
 * @param query before the optimizer changed it, or a part of a statement's plan
 * @param isWhole whether it can run once more, without Parquetry's rules
 */
class Audit(session: ClassicSession, val query: LogicalPlan, val isWhole: Boolean = true) {
  private val counts = mutable.LinkedHashMap.empty[String, Long]
  private val skipped = mutable.LinkedHashSet.empty[String]
  private var checked = false

  /** Counts claims of a kind that hold. */
  def hold(kind: String, number: Long): Unit = synchronized {
    if (number > 0) {
      counts(kind) = counts.getOrElse(kind, 0L) + number
      AuditOutcome.checked.addAndGet(number)
    }
  }
  /** Notes why a claim is not checked. */
  def skip(reason: String): Unit = synchronized { skipped += reason }

  /** Runs a check that reads files. If one cannot be read, the check says nothing of the query's answer. */
  private def reading(what: String)(check: => Unit): Unit = try check catch {
    case UnreadableFile(reason) => skip(s"$what: ${firstLine(reason)}")
  }

  /** The claims that were checked, for the report; JNothing before the query has run. */
  def outcome: JValue = synchronized {
    if (!checked) JNothing
    else JObject("held" -> JObject(counts.toList.map { case (kind, number) => kind -> (JLong(number): JValue) }),
      "skipped" -> JArray(skipped.toList.map(JString(_))))
  }

  /**
   * Checks all claims of a plan that has run.
   *
   * @param checksum of its rows
   * @throws AuditFailure a claim does not hold
   */
  def check(plan: SparkPlan, checksum: Checksum.Compared => Checksum): Unit = session.withActive {
    val nodes = PlanNodes(plan)
    nodes.collect { case ScanNode(scan: ParquetryScan, filters) => (scan, filters) }
      .distinctBy { case (scan, filters) => (System.identityHashCode(scan.sameAnswers), System.identityHashCode(scan.readNow), filters.nonEmpty) }
      .foreach { case (scan, filters) => reading(s"files of ${scan.table.name()}")(new ScanAudit(session, this, scan, filters).check()) }
    nodes.collect { case rows: LocalTableScanExec => rows.logicalLink }.flatten.flatMap(_.collectLeaves())
      .collect { case relation: DataSourceV2ScanRelation => relation.scan }.collect { case answered: MetadataScan => answered }.distinct.foreach(checkAnswer)
    nodes.collect { case checked: CheckedRowsExec => checked.claims }.flatten.groupBy(_.kind).foreach { case (kind, some) => hold(kind, some.length) }
    if (isWhole) compareWhole(checksum)
    synchronized { checked = true }
  }

  private def checkAnswer(answered: MetadataScan): Unit = answered.calls match {
    case Some(AnsweredCalls(Some(conditions), calls, groupBy)) =>
      val table = answered.table
      val names = conditions.flatMap(_.references.map(_.name)).toSet ++ groupBy ++
        calls.map(_ \ "column").collect { case JString(name) => FieldPath.parts(name).head }
      val whole = AuditScans.whole(table, StructType(table.logical.filter(field => names(field.name))))
      val rows = ScanAudit.frame(ReadRows(session, whole, whole.listed), whole.readSchema())
      reading(s"answers about ${table.name()}")(
        new AnswerAudit(session, this, table, answered.answer, calls, groupBy).checkAll(ScanAudit.among(rows, conditions)))
    case _ => skip(s"answers about ${answered.table.name()}: their conditions have no form that Spark evaluates")
  }

  private def compareWhole(checksum: Checksum.Compared => Checksum): Unit = Comparable.of(query) match {
    case Incomparable(reason) => skip(s"the whole query: $reason")
    case SameRows(columns) =>
      val reference = SessionCopies.of(session, AuditMode.ofReference)
      val compared = Checksum.Compared(query.output, columns)
      val other = try Right(reference.withActive {
        // planned without cached data, which this very query may fill
        val plain = QueryExecution.prepareExecutedPlan(reference, reference.sessionState.optimizer.execute(query.clone()))
        Checksum.of(plain.execute(), Checksum.Compared(plain.output, columns))
      }) catch {
        case e: StackOverflowError => Left(e) // Spark itself cannot plan each query that Parquetry can
        case NonFatal(e) => Left(e)
      }
      other match {
        // a row that the query does not read may raise an error: SQL leaves the order of conditions open
        case Left(e) => skip(s"the whole query: without Parquetry, it raises ${e.getClass.getSimpleName}: ${firstLine(String.valueOf(e.getMessage))}")
        case Right(found) =>
          val own = checksum(compared)
          if (own != found) throw AuditFailure.ofWhole(query, own, found)
          hold("whole queries", 1)
      }
  }
  private def firstLine(text: String): String = text.linesIterator.nextOption().getOrElse("").take(200)
}
