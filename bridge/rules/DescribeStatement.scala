package org.apache.spark.sql.parquetry

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.v2.DescribeTableExec

/**
 * `DESCRIBE` with partition columns shown as such also where there are buckets, and `EXTENDED` with what the planner has to tell
 * besides, behind Spark's own rows.
 */
object DescribeStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case DescribeRelation(r @ ResolvedTable(_, _, t: ParquetryTable, _), extended, output)
        if t.isArranged && t.partitionColumns.nonEmpty || extended && t.details.nonEmpty =>
      val shown = if (t.partitionColumns.isEmpty) r else r.copy(table = t.byColumns)
      DescribeCommand(shown, if (extended) t.details else Nil, extended, output)
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
