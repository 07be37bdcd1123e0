package org.apache.spark.sql.parquetry.statements

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{ResolvedPartitionSpec, ResolvedTable}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.parquetry.table.ParquetryTable

/**
 * `SHOW PARTITIONS` as Hive and Spark's own tables print it: Spark's V2 command prints NULL as the text
 * `null`.
 */
object ShowPartitionsStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case ShowPartitions(ResolvedTable(_, _, t: ParquetryTable, _), None, output) if t.partitionColumns.nonEmpty =>
      ShowPartitionsCommand(t, Nil, InternalRow.empty, output)
    case ShowPartitions(ResolvedTable(_, _, t: ParquetryTable, _), Some(s: ResolvedPartitionSpec), output) =>
      ShowPartitionsCommand(t, s.names, s.ident, output)
  }
}

case class ShowPartitionsCommand(
    table: ParquetryTable, names: Seq[String], ident: InternalRow, override val output: Seq[Attribute])
  extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = table.partitionNames(names, ident).map(Row(_))
}
