package org.apache.spark.sql.parquetry.write

import java.util.Locale

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.errors.QueryCompilationErrors
import org.apache.spark.sql.parquetry.protocol.ParquetryException
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.versions.{Append, Evolution, Overwrite, OverwritePartitions}

/**
 * The option `mergeSchema` of a DataFrame's write: it does what `WITH SCHEMA EVOLUTION` does for a statement.
 */
object MergeSchemaOption {
  val option = "mergeSchema"

  /**
   * Applies the option to a write. Refuses a write without the option whose rows have more columns than the
   * table; the error names the option.
   *
   * @param tableOf returns the table of ours that a relation names, or None if it names another
   * @param analyzed resolves a query, whose columns are then known
   */
  def evolving(
      write: V2WriteCommand,
      tableOf: LogicalPlan => Option[ParquetryTable],
      analyzed: LogicalPlan => LogicalPlan): LogicalPlan = found(write.table, tableOf) match {
    case None => write
    case Some(table) if Evolution.isIn(write) || asked(write) =>
      ParquetryException.refuseLacking("evolving writes")(Some(
        (s"Option $option of a write into ${table.name()}", s"Say ALTER TABLE ${table.name()} ADD COLUMNS before, and leave the option out.")))
      if (!write.isByName) byPosition(table, Nil, analyzed(write.query))
      Evolution.in(write)
    case Some(table) => refuse(write.isByName, table, analyzed(write.query)); write
  }

  /** Refuses a statement that writes by position and has values for new columns. */
  def checked(
      plan: LogicalPlan, tableOf: LogicalPlan => Option[ParquetryTable], analyzed: LogicalPlan => LogicalPlan): Unit =
    plan.collect { case i: InsertIntoStatement => i } match {
      case Seq(i) if Evolution.isIn(i) && !i.byName && i.userSpecifiedCols.isEmpty =>
        found(i.table, tableOf).filter(_.partitionColumns.nonEmpty).foreach { table =>
          val query = AnalysisHelper.allowInvokingTransformsInAnalyzer { // with what WITH names
            plan.transformDown { case same: InsertIntoStatement if same eq i => i.query }
          }
          byPosition(table, i.partitionSpec.collect { case (name, Some(_)) => name }.toSeq, analyzed(query))
        }
      case _ =>
    }

  private def found(relation: LogicalPlan, tableOf: LogicalPlan => Option[ParquetryTable]): Option[ParquetryTable] =
    try tableOf(relation) catch { case _: NoSuchTableException => None } // Spark raises its own error

  private def asked(write: V2WriteCommand): Boolean = {
    val options = write match {
      case Append(_, _, options, _) => options
      case Overwrite(_, _, _, options, _) => options
      case OverwritePartitions(_, _, options, _, _, _) => options
      case _ => Map.empty[String, String]
    }
    options.exists { case (name, value) =>
      name.equalsIgnoreCase(option) && (value.toLowerCase(Locale.ROOT) match {
        case "true" => true
        case "false" => false
        case _ => throw new ParquetryException("PROPERTY", s"Option $option is '$value': give true or false.")
      })
    }
  }

  /**
   * Refuses new columns by position: they come before partition columns, where the rows have partition
   * values.
   */
  private def byPosition(table: ParquetryTable, said: Seq[String], query: LogicalPlan): Unit = {
    val more = query.output.map(_.name).drop(table.logical.length - said.length)
    if (table.partitionColumns.nonEmpty && more.nonEmpty)
      throw new ParquetryException("UNSUPPORTED",
        s"Rows are written into ${table.name()} by position, and have more columns than it, ${more.mkString(", ")}: " +
          "new columns come before partition columns, so that no position is theirs. Write by name: " +
          "df.write.saveAsTable, df.writeTo(…).append() or INSERT … BY NAME.")
  }

  private val remedy =
    if (Evolution.inWrites) s"To have the table get new columns, write with option(\"$option\", \"true\")."
    else "To have the table get new columns, ALTER TABLE … ADD COLUMNS before."

  private def refuse(byName: Boolean, table: ParquetryTable, query: LogicalPlan): Unit = {
    val columns = table.logical.fieldNames
    val names = query.output.map(_.name)
    val extra = if (byName) names.filterNot(n => columns.exists(query.conf.resolver(_, n))) else names.drop(columns.length)
    if (extra.nonEmpty) {
      val refused =
        if (names.length <= columns.length) QueryCompilationErrors.incompatibleDataToTableExtraColumnsError(table.name(), extra.map(n => s"`$n`").mkString(", "))
        else QueryCompilationErrors.cannotWriteTooManyColumnsToTableError(table.name(), columns.toSeq, query.output)
      throw (refused match {
        case e: AnalysisException =>
          e.copy(message = s"${e.message} $remedy")
        case other => other
      })
    }
  }
}
