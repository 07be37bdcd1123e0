package org.apache.spark.sql.parquetry

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.parquetry.buckets.JoinInBuckets
import org.apache.spark.sql.parquetry.results.{AnswerAggregates, PruneByLimit}
import org.apache.spark.sql.parquetry.runtime.AddRuntimeFilters
import org.apache.spark.sql.parquetry.scan.ListInputFiles
import org.apache.spark.sql.parquetry.skew.SplitHeavyKeys

/**
 * Adds rules to the optimizer rules that a session runs last. Rules that an extension adds itself run too
 * early: before scans have sizes, before IN and EXISTS are joins, and before Spark has put its own filters.
 *
 * A plan is analysed before it is optimized. So these rules run for the first query, too, and also if a user
 * sets `spark.experimental.extraOptimizations`.
 */
case class RegisterLateRules(session: SparkSession) extends Rule[LogicalPlan] {
  private val rules = Seq[Rule[LogicalPlan]](SplitHeavyKeys, AddRuntimeFilters, PruneByLimit, AnswerAggregates, JoinInBuckets, ListInputFiles)
    .map(rule => RuleOfOurs(rule, gains = rule != ListInputFiles))

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val methods = session.asInstanceOf[ClassicSession].experimental
    def missing = rules.filterNot(methods.extraOptimizations.contains)
    if (missing.nonEmpty) methods.synchronized { methods.extraOptimizations = methods.extraOptimizations ++ missing }
    plan
  }
}
