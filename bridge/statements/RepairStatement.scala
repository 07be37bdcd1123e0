package org.apache.spark.sql.parquetry.statements

import org.json4s._

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.parquetry.protocol.{CallAnswer, SchemaAnswer}
import org.apache.spark.sql.parquetry.table.{Cached, ParquetryTable}

/**
 * Runs `MSCK REPAIR TABLE` and `RECOVER PARTITIONS`, which Spark refuses for V2 tables, as the planner's
 * `sync`.
 */
object RepairStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case RepairTable(ResolvedTable(_, _, t: ParquetryTable, _), add, drop) => command(t, add, drop)
    case RecoverPartitions(ResolvedTable(_, _, t: ParquetryTable, _)) => command(t, add = true, drop = false)
  }

  private def command(t: ParquetryTable, add: Boolean, drop: Boolean) =
    RepairCommand(t, add, drop, toAttributes(t.ref.ask("repair_schema").as[SchemaAnswer].schema))
}

case class RepairCommand(table: ParquetryTable, add: Boolean, drop: Boolean, override val output: Seq[Attribute])
  extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    val answer = table.ref.ask("repair", table.identity ++ Seq[JField]("add" -> JBool(add), "drop" -> JBool(drop)): _*).as[CallAnswer]
    Cached.refresh(table.ref, answer.changed)
    val toRow = CatalystTypeConverters.createToScalaConverter(answer.schema)
    answer.sparkRows.toSeq.map(toRow(_).asInstanceOf[Row])
  }
}
