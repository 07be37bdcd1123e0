package org.apache.spark.sql.parquetry.predicates

import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.metadata.MetadataTable
import org.apache.spark.sql.parquetry.protocol.CharPadding
import org.apache.spark.sql.parquetry.table.ParquetryTable

/**
 * Spark pads a char that it reads by a method that it has no name for, so that no source is shown a condition on one. Here the
 * method gets a name, and stays what it is: the planner knows it (`predicate.reading.char_padding`).
 */
object RewriteCharComparisons extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case f @ Filter(condition, DataSourceV2Relation(_: ParquetryTable | _: MetadataTable, _, _, _, _, _)) =>
      val named = condition.transform {
        case padded @ CharPadding(_) if padded.asInstanceOf[StaticInvoke].scalarFunction.isEmpty =>
          padded.asInstanceOf[StaticInvoke].copy(scalarFunction = Some(CharPadding))
      }
      if (named eq condition) f else f.copy(condition = named)
  }
}
