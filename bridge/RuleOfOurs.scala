package org.apache.spark.sql.parquetry

import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.parquetry.protocol.Tracing
import org.apache.spark.sql.parquetry.table.OurPlans

/**
 * A rule that leaves a plan at once that names no table of ours. `OurPlans` looks at a plan once for all such
 * rules.
 */
case class RuleOfOurs[P <: QueryPlan[P]](rule: Rule[P]) extends Rule[P] {
  override val ruleName: String = rule.ruleName
  override def apply(plan: P): P = if (OurPlans.contain(plan)) Tracing.rule(ruleName)(rule(plan)) else plan
}
