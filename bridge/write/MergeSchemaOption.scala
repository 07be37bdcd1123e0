package org.apache.spark.sql.parquetry.write

import java.util.Locale

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.errors.QueryCompilationErrors
import org.apache.spark.sql.parquetry.protocol.ParquetryException
import org.apache.spark.sql.parquetry.table.ParquetryTable

/** The option `mergeSchema` of a DataFrame's write, which says of it what `WITH SCHEMA EVOLUTION` says of a statement. */
object MergeSchemaOption {
  val option = "mergeSchema"

  /** The write as its option has it; one whose rows have more columns than the table, and no option, is refused with a word of it.
   *
   * @param tableOf the table of ours that a relation names
   * @param analyzed what gives the columns of a query
   */
  def evolving(
      write: V2WriteCommand,
      tableOf: LogicalPlan => Option[ParquetryTable],
      analyzed: LogicalPlan => LogicalPlan): LogicalPlan = found(write.table, tableOf) match {
    case None => write
    case Some(table) if write.withSchemaEvolution || asked(write) =>
      if (!write.isByName) byPosition(table, Nil, analyzed(write.query))
      withEvolution(write)
    case Some(table) => refuse(write.isByName, table, analyzed(write.query)); write
  }

  /** A statement whose rows go by position must not have any that are a new column's. */
  def checked(
      plan: LogicalPlan, tableOf: LogicalPlan => Option[ParquetryTable], analyzed: LogicalPlan => LogicalPlan): Unit =
    plan.collect { case i: InsertIntoStatement => i } match {
      case Seq(i) if i.withSchemaEvolution && !i.byName && i.userSpecifiedCols.isEmpty =>
        found(i.table, tableOf).filter(_.partitionColumns.nonEmpty).foreach { table =>
          val query = AnalysisHelper.allowInvokingTransformsInAnalyzer { // with what WITH names
            plan.transformDown { case same: InsertIntoStatement if same eq i => i.query }
          }
          byPosition(table, i.partitionSpec.collect { case (name, Some(_)) => name }.toSeq, analyzed(query))
        }
      case _ =>
    }

  private def found(relation: LogicalPlan, tableOf: LogicalPlan => Option[ParquetryTable]): Option[ParquetryTable] =
    try tableOf(relation) catch { case _: NoSuchTableException => None } // Spark tells of it

  private def asked(write: V2WriteCommand): Boolean = {
    val options = write match {
      case AppendData(_, _, options, _, _, _, _) => options
      case OverwriteByExpression(_, _, _, options, _, _, _, _) => options
      case OverwritePartitionsDynamic(_, _, options, _, _, _) => options
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

  private def withEvolution(write: V2WriteCommand): LogicalPlan = write match {
    case a: AppendData => a.copy(withSchemaEvolution = true)
    case o: OverwriteByExpression => o.copy(withSchemaEvolution = true)
    case o: OverwritePartitionsDynamic => o.copy(withSchemaEvolution = true)
    case other => other
  }

  /** New columns come before partition columns, where rows that go by position have others. */
  private def byPosition(table: ParquetryTable, said: Seq[String], query: LogicalPlan): Unit = {
    val more = query.output.map(_.name).drop(table.logical.length - said.length)
    if (table.partitionColumns.nonEmpty && more.nonEmpty)
      throw new ParquetryException("UNSUPPORTED",
        s"Rows are written into ${table.name()} by position, and have more columns than it, ${more.mkString(", ")}: " +
          "new columns come before partition columns, so that no position is theirs. Write by name: " +
          "df.write.saveAsTable, df.writeTo(…).append() or INSERT … BY NAME.")
  }

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
          e.copy(message = s"${e.message} To have the table get new columns, write with option(\"$option\", \"true\").")
        case other => other
      })
    }
  }
}
