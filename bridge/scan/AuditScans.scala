package org.apache.spark.sql.parquetry.scan

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.parquetry.protocol.ScanAnswer
import org.apache.spark.sql.parquetry.readers.FileSplits
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Scans of the same version of a table as another scan, which an audit compares it with.
 *
 * @param scan the audited scan
 * @param more columns that the audit needs besides the scan's own
 */
class AuditScans(scan: ParquetryScan, more: Set[String]) {
  private val own = scan.plans.request

  /**
   * The columns of the audit's scans. A column that conditions use is whole, also where the scan reads some
   * of its fields.
   */
  val columns: StructType = {
    val read = own.required.fields.filterNot(field => own.hidden.names(field.name))
    val names = read.map(_.name).toSet ++ more
    val partial = read.map(field => field.name -> field).toMap
    CharVarcharUtils.replaceCharVarcharWithStringInSchema(StructType(own.table.logical.fields.filter(field => names(field.name)).map(field =>
      if (more(field.name)) field else partial(field.name))))
  }

  private def of(request: ScanRequest): ParquetryScan = new ParquetryScan(new ScanPlans(request), ReadMode(bucketed = false))

  /** The same conditions, without values of this run and without what the query needs of the rows. */
  lazy val same: ParquetryScan =
    of(own.copy(required = columns, bucketCount = None, place = None, needed = None, foreseen = None, claimed = Claimed()))
  /** The same conditions with runtime filters, which have their values. */
  def narrowed(filters: Seq[Expression]): ScanAnswer = same.plans.narrow(filters).fold(same.listed)(_.answer)

  /** A scan of all rows of the table, without a claim. */
  lazy val whole: ParquetryScan =
    of(ScanRequest(own.table, Nil, columns, own.options, reference = true))

  /** The files of an answer, as readers name them, with their names for the planner. */
  def files(answer: ScanAnswer): Map[String, String] =
    FileSplits.paths(answer).map(_.urlEncoded).zip(answer.files.paths.toSeq).toMap
}

object AuditScans {
  /** A scan of some columns of all rows of a table, without a claim. */
  def whole(table: ParquetryTable, columns: StructType): ParquetryScan = new ParquetryScan(
    new ScanPlans(ScanRequest(table, Nil, CharVarcharUtils.replaceCharVarcharWithStringInSchema(columns), CaseInsensitiveStringMap.empty,
      reference = true)), ReadMode(bucketed = false))

  /** The names of the steps of a report that left something out. */
  def steps(report: JValue): Seq[String] = (report \ "steps").children.collect {
    case step if (step \ "kept") != (step \ "of") && (step \ "name") != JString("bytes") => step \ "name"
  }.collect { case JString(name) => name }
}
