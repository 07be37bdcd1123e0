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

/** `DESCRIBE EXTENDED` with what the planner has to tell besides, behind Spark's own rows. */
object DescribeStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case DescribeRelation(r @ ResolvedTable(_, _, t: ParquetryTable, _), true, output) if t.details.nonEmpty =>
      DescribeCommand(r, t.details, output)
  }
}

case class DescribeCommand(
    found: ResolvedTable, details: Seq[(String, String)], override val output: Seq[Attribute])
  extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    val plan = DescribeTableExec(output, found.catalog.name(), found.identifier, found.table, isExtended = true)
    val toRow = CatalystTypeConverters.createToScalaConverter(DataTypeUtils.fromAttributes(output))
    plan.executeCollect().toSeq.map(toRow(_).asInstanceOf[Row]) ++
      (("", "") +: ("# Storage Information", "") +: details).map { case (name, text) => Row(name, text, "") }
  }
}
