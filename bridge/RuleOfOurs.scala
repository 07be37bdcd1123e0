package org.apache.spark.sql.parquetry

import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.parquetry.protocol.{AuditMode, Tracing}
import org.apache.spark.sql.parquetry.table.OurPlans

/**
 * A rule that leaves a plan at once that names no table of ours. `OurPlans` looks at a plan once for all such
 * rules.
 *
 * @param gains whether the rule only makes a query faster, by a claim about rows: an audit's reference runs
 *   without it
 */
case class RuleOfOurs[P <: QueryPlan[P]](rule: Rule[P], gains: Boolean = false) extends Rule[P] {
  override val ruleName: String = rule.ruleName
  override def apply(plan: P): P =
    if (OurPlans.contain(plan) && !(gains && AuditMode.isReference)) Tracing.rule(ruleName)(rule(plan)) else plan
}
