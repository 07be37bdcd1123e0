package org.apache.spark.sql.parquetry.predicates

import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.parquetry.metadata.MetadataTable
import org.apache.spark.sql.parquetry.protocol.CharPadding
import org.apache.spark.sql.parquetry.table.{ParquetryTable, TableRelation}

/**
 * Names the method that pads a char while Spark reads it. Without a name, Spark offers no condition on the
 * padded char to a source. The planner knows the name (`predicate.reading.char_padding`).
 */
object RewriteCharComparisons extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case f @ Filter(condition, TableRelation(_: ParquetryTable | _: MetadataTable)) =>
      val named = condition.transform {
        case padded @ CharPadding(_) if padded.asInstanceOf[StaticInvoke].scalarFunction.isEmpty =>
          padded.asInstanceOf[StaticInvoke].copy(scalarFunction = Some(CharPadding))
      }
      if (named eq condition) f else f.copy(condition = named)
  }
}
