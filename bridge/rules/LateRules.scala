package org.apache.spark.sql.parquetry

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}

/**
 * Puts `RuntimeFilters` among the rules that a session runs last. Those that an extension can add itself run before there are scans
 * with their sizes, before IN and EXISTS are joins, and before Spark has put filters of its own. A plan is analysed before it is
 * optimized, so the rule is there for the first query, also where a user sets `spark.experimental.extraOptimizations`.
 */
case class LateRules(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    val methods = session.asInstanceOf[ClassicSession].experimental
    if (!methods.extraOptimizations.contains(RuntimeFilters)) methods.synchronized {
      if (!methods.extraOptimizations.contains(RuntimeFilters)) {
        methods.extraOptimizations = methods.extraOptimizations :+ RuntimeFilters
      }
    }
    plan
  }
}
