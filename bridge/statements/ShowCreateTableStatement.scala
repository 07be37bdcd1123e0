package org.apache.spark.sql.parquetry.statements

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.v2.ShowCreateTableExec
import org.apache.spark.sql.parquetry.table.ParquetryTable

/** Adds clauses to `SHOW CREATE TABLE` that Spark's own command does not know, in place of the properties. */
object ShowCreateTableStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case ShowCreateTable(r @ ResolvedTable(_, _, t: ParquetryTable, _), false, output) if t.clauses.nonEmpty =>
      ShowCreateTableCommand(r.copy(table = t.withoutClauses), t.clauses, output)
  }
}

case class ShowCreateTableCommand(found: ResolvedTable, clauses: Seq[String], override val output: Seq[Attribute])
  extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    val shown = ShowCreateTableExec(output, found).executeCollect().map(_.getString(0)).mkString
    Seq(Row(shown + clauses.map(_ + "\n").mkString))
  }
}
