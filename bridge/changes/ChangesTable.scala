package org.apache.spark.sql.parquetry.changes

import java.util

import org.json4s.JBool

import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownV2Filters}
import org.apache.spark.sql.parquetry.protocol.LoadedChangesAnswer
import org.apache.spark.sql.parquetry.table.{ParquetryTable, PushedPredicate}
import org.apache.spark.sql.parquetry.versions.Columns
import org.apache.spark.sql.types.{LongType, StringType, StructField, StructType, TimestampType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The columns that changes have after the table's own, by the names of Spark's interface for change data. */
object ChangeColumns {
  val Type = "_change_type"
  val Version = "_commit_version"
  val Timestamp = "_commit_timestamp"
  val fields: Array[StructField] = Array(
    StructField(Type, StringType, nullable = false), StructField(Version, LongType, nullable = false),
    StructField(Timestamp, TimestampType, nullable = false))
  val names: Set[String] = fields.map(_.name).toSet
}

/**
 * A part of the changes of a table between versions.
 *
 * @param of the table in the last version, whose columns the rows have
 * @param first the first version
 * @param mode `each`, `net` or `raw`; see `changes/plan.py`
 * @param keys columns that an update of a row does not change
 * @param compared whether it has the rows of files that have to be compared, or of all other files; None for
 *   all changes, which only `ExpandChanges` can read
 */
case class ChangesTable(of: ParquetryTable, first: Long, mode: String, keys: Seq[String], compared: Option[Boolean] = None)
  extends Table with SupportsRead {
  override def name(): String = s"changes of ${of.name()}, versions $first to ${of.version()}"
  override def schema(): StructType = StructType(of.logical.fields ++ ChangeColumns.fields)
  override def columns(): Array[Column] = Columns.of(schema(), withIds = false)
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new ChangesScanBuilder(this, options)
}

object ChangesTable {
  def apply(of: ParquetryTable, answer: LoadedChangesAnswer, mode: String): ChangesTable =
    ChangesTable(of, answer.first, mode, answer.keys)
}

/** Spark evaluates all conditions again. They choose partitions, files and row groups. */
private class ChangesScanBuilder(table: ChangesTable, options: CaseInsensitiveStringMap)
  extends ScanBuilder with SupportsPushDownV2Filters with SupportsPushDownRequiredColumns {
  private var required = table.schema()
  private var pushed = Seq.empty[PushedPredicate]

  override def pruneColumns(columns: StructType): Unit = required = columns
  override def pushedPredicates(): Array[Predicate] = Array.empty
  override def pushPredicates(predicates: Array[Predicate]): Array[Predicate] = {
    val offered = predicates.toSeq.filter(_.references().forall(r => !ChangeColumns.names(r.fieldNames().head)))
    pushed = table.of.judge(offered, options, "streaming" -> JBool(true))
    predicates
  }

  override def build(): Scan = new ChangesScan(table, required, pushed, options)
}
