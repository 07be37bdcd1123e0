package org.apache.spark.sql.parquetry.statements

import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedIdentifier, UnresolvedRelation, UnresolvedTableOrView}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.parquetry.protocol.ParquetryException.refuseLacking
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.versions.Description

/**
 * Refuses statements about our tables that need a feature which this series of Spark lacks. Spark would
 * refuse them, too, in words that name no remedy. Where Spark lacks nothing, this class does nothing.
 *
 * @param tableOf returns the table of ours that a relation names, or None if it names another
 * @param isOurs whether a name is of a catalog of ours
 * @param analyzed resolves a query, whose columns are then known
 */
class LackingFeatures(tableOf: LogicalPlan => Option[ParquetryTable], isOurs: Seq[String] => Boolean, analyzed: LogicalPlan => LogicalPlan) {

  /** @param parts the expressions of the MERGE */
  def merge(found: MergeIntoTable, parts: Seq[Expression]): Unit = {
    if (found.withSchemaEvolution) refuseLacking("evolving merges")(tableOf(found.targetTable).map(_.name()).map { table =>
      (s"MERGE WITH SCHEMA EVOLUTION INTO $table", s"Say ALTER TABLE $table ADD COLUMNS before, and MERGE without WITH SCHEMA EVOLUTION.")
    })
    if (found.notMatchedActions.nonEmpty) refuseLacking("hidden columns in merges") {
      def isNamed(column: String) = parts.exists(_.exists {
        case a: UnresolvedAttribute => a.nameParts.last.equalsIgnoreCase(column) && a.nameParts.init.lastOption.forall(isOf(found.targetTable, _))
        case _ => false
      })
      tableOf(found.targetTable).filter(table => isNamed(table.fileColumn.name)).map { table =>
        (s"MERGE INTO ${table.name()} with ${table.fileColumn.name}", "Insert in another MERGE, which does not name it.")
      }
    }
  }

  private def isOf(target: LogicalPlan, qualifier: String): Boolean = target match {
    case SubqueryAlias(alias, _) => alias.name.equalsIgnoreCase(qualifier)
    case r: UnresolvedRelation => r.multipartIdentifier.last.equalsIgnoreCase(qualifier)
    case _ => false
  }

  /** A write of a DataFrame. */
  def write(found: V2WriteCommand): Unit =
    if (found.isByName) refuseLacking("left-out columns")(tableOf(found.table).flatMap(incomplete(_, analyzed(found.query).output.map(_.name))))

  def statement(found: LogicalPlan): Unit = found match {
    case view: CreateView => refuseLacking("views")(Some(view.child).collect { case UnresolvedIdentifier(name, _) if isOurs(name) =>
      (s"CREATE VIEW ${name.mkString(".")}",
        s"Make it in Spark's own catalog, with the full names of its tables: CREATE VIEW spark_catalog.default.${name.last} AS ….")
    })
    case describe: DescribeRelation =>
      refuseLacking("described partitions")(Description.refused(describe).collect { case t: UnresolvedTableOrView if isOurs(t.multipartIdentifier) =>
        val name = t.multipartIdentifier.mkString(".")
        (s"DESCRIBE $name PARTITION", s"Say SELECT * FROM $name.partitions.")
      })
    case other => refuseLacking("left-out columns")(other.collect { case i: InsertIntoStatement => i } match {
      case Seq(i) if i.byName || i.userSpecifiedCols.nonEmpty => tableOf(i.table).flatMap(incomplete(_, columns(i, other)))
      case _ => None
    })
  }

  /** The columns that an INSERT names; what its query has by name, if that is what counts. */
  private def columns(i: InsertIntoStatement, whole: LogicalPlan): Seq[String] = i.partitionSpec.keys.toSeq ++
    (if (i.userSpecifiedCols.nonEmpty) i.userSpecifiedCols
    else analyzed(AnalysisHelper.allowInvokingTransformsInAnalyzer { // with what WITH names
      whole.transformDown { case same: InsertIntoStatement if same eq i => i.query }
    }).output.map(_.name))

  private def incomplete(table: ParquetryTable, names: Seq[String]): Option[(String, String)] = {
    val missing = table.logical.fieldNames.filterNot(column => names.exists(_.equalsIgnoreCase(column)))
    Option.when(missing.nonEmpty)((s"A write into ${table.name()} without ${missing.mkString(", ")}",
      "Say DEFAULT for it in SQL, and give a DataFrame the column."))
  }
}
