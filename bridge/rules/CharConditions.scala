package org.apache.spark.sql.parquetry

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{DataType, IntegerType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Spark pads a char that it reads by a method that it has no name for, so that no source is shown a condition on one. Here the
 * method gets a name, and stays what it is: the planner knows it (`predicate.chars`).
 */
object CharConditions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case f @ Filter(condition, DataSourceV2Relation(_: ParquetryTable | _: MetadataTable, _, _, _, _, _)) =>
      val named = condition.transform {
        case padded @ CharPadding(_) if padded.asInstanceOf[StaticInvoke].scalarFunction.isEmpty =>
          padded.asInstanceOf[StaticInvoke].copy(scalarFunction = Some(CharPadding))
      }
      if (named eq condition) f else f.copy(condition = named)
  }
}

/** What Spark does to a char that it reads: its name, and what it is done to. */
object CharPadding extends ScalarFunction[UTF8String] {
  override def name(): String = "CHAR_PADDED"
  override def canonicalName(): String = "parquetry.char_padded"
  override def inputTypes(): Array[DataType] = Array(StringType, IntegerType)
  override def resultType(): DataType = StringType

  def unapply(e: Expression): Option[Expression] = e match {
    case s: StaticInvoke if s.functionName == "readSidePadding" => Some(s.arguments.head)
    case _ => None
  }
}
