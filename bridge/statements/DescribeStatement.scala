package org.apache.spark.sql.parquetry.statements

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.v2.{DescribeColumnExec, DescribeTableExec}
import org.apache.spark.sql.parquetry.scan.KnownColumn
import org.apache.spark.sql.parquetry.table.ParquetryTable

/**
 * `DESCRIBE` with partition columns shown as such also where there are buckets, and `EXTENDED` with what the planner has to tell
 * besides, behind Spark's own rows; that of a column with what the metastore knows of its values.
 */
object DescribeStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case DescribeRelation(r @ ResolvedTable(_, _, t: ParquetryTable, _), extended, output)
        if t.isArranged && t.partitionColumns.nonEmpty || extended && t.details.nonEmpty =>
      val shown = if (t.partitionColumns.isEmpty) r else r.copy(table = t.byColumns)
      DescribeCommand(shown, if (extended) t.details else Nil, extended, output)
    case DescribeColumn(ResolvedTable(_, _, t: ParquetryTable, _), column: Attribute, true, output) =>
      DescribeColumnCommand(t, column, output)
  }
}

/** Spark's own rows, and those that it has of an analyzed column of its tables: what is not known is NULL. */
case class DescribeColumnCommand(table: ParquetryTable, column: Attribute, override val output: Seq[Attribute])
  extends LeafRunnableCommand {
  override def producedAttributes: AttributeSet = super.producedAttributes + column // of the table, which is no child
  override def run(session: SparkSession): Seq[Row] = {
    val builtIn = DescribeColumnExec(output, column, isExtended = false, table).executeCollect().toSeq
    val toRow = CatalystTypeConverters.createToScalaConverter(DataTypeUtils.fromAttributes(output))
    val known = new KnownColumn(table, column.name)
    val values = Seq("min" -> known.least, "max" -> known.greatest, "num_nulls" -> known.nulls)
    val rows = // as of a column that was not analyzed, where nothing is known
      if (values.forall(_._2.isEmpty)) Nil
      else values ++ Seq("distinct_count", "avg_col_len", "max_col_len", "histogram").map(_ -> None)
    builtIn.map(toRow(_).asInstanceOf[Row]) ++ rows.map { case (name, value) => Row(name, value.getOrElse("NULL")) }
  }
}

case class DescribeCommand(
    found: ResolvedTable, details: Seq[(String, String)], extended: Boolean, override val output: Seq[Attribute])
  extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    val plan = DescribeTableExec(output, found.catalog.name(), found.identifier, found.table, extended)
    val toRow = CatalystTypeConverters.createToScalaConverter(DataTypeUtils.fromAttributes(output))
    plan.executeCollect().toSeq.map(toRow(_).asInstanceOf[Row]) ++
      (if (details.isEmpty) Nil else ("", "") +: ("# Storage Information", "") +: details).map { case (name, text) => Row(name, text, "") }
  }
}
