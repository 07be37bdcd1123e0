package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.analysis.{NamedRelation, ResolveMergeIntoSchemaEvolution}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.catalog.{Table, TableChange}
import org.apache.spark.sql.connector.write.Write

/** An append: its table, query, options and write. */
object Append {
  def unapply(found: AppendData): Some[(NamedRelation, LogicalPlan, Map[String, String], Option[Write])] =
    Some((found.table, found.query, found.writeOptions, found.write))
  def apply(table: NamedRelation, query: LogicalPlan, options: Map[String, String], byName: Boolean, evolves: Boolean): AppendData =
    AppendData(table, query, options, byName, None, None)
}

/** An overwrite of the rows that satisfy a condition: its table, condition, query, options and write. */
object Overwrite {
  def unapply(found: OverwriteByExpression): Some[(NamedRelation, Expression, LogicalPlan, Map[String, String], Option[Write])] =
    Some((found.table, found.deleteExpr, found.query, found.writeOptions, found.write))
  def apply(table: NamedRelation, condition: Expression, query: LogicalPlan, options: Map[String, String], byName: Boolean,
      evolves: Boolean): OverwriteByExpression =
    OverwriteByExpression(table, condition, query, options, byName, None, None)
}

/**
 * An overwrite of the partitions of its rows: its table, query, options, whether it goes by name and evolves,
 * and its write.
 */
object OverwritePartitions {
  def unapply(found: OverwritePartitionsDynamic): Some[(NamedRelation, LogicalPlan, Map[String, String], Boolean, Boolean, Option[Write])] =
    Some((found.table, found.query, found.writeOptions, found.isByName, false, found.write))
}

/**
 * A MERGE that only inserts: its table, write, and query as it was analyzed. In Spark 4.1 it is an append
 * like others, and its query has the anti join.
 */
object InsertingMerge {
  def unapply(plan: LogicalPlan): Option[(LogicalPlan, Option[Write], Option[LogicalPlan])] = plan match {
    case AppendData(table, query, _, _, write, analyzed) => Some((table, write, analyzed.orElse(Some(query))))
    case _ => None
  }
}

/** Statements that give their table new columns: in Spark 4.1, MERGE alone. */
object Evolution {
  trait SupportsSchemaEvolution extends Table {
    def supportsColumnChange(change: TableChange.ColumnChange): Boolean
  }

  /** Whether INSERT and writes of DataFrames can do so. */
  val inWrites: Boolean = false
  def isIn(write: V2WriteCommand): Boolean = false
  def isIn(insert: InsertIntoStatement): Boolean = false
  def in(write: V2WriteCommand): LogicalPlan = write

  /** The class of Spark's rule that alters the table. */
  val rule: String = ResolveMergeIntoSchemaEvolution.getClass.getName
}
