package org.apache.spark.sql.parquetry.statements

import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.parquetry.table.ParquetryTable

/** Has the planner refuse LOAD DATA, with an error that says what to do instead. */
object LoadDataStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case LoadData(ResolvedTable(_, _, t: ParquetryTable, _), _, _, _, _) => t.ref.ask("refuse_load", t.identity: _*)
      case _ =>
    }
    plan
  }
}
