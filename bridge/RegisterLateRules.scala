package org.apache.spark.sql.parquetry

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.parquetry.runtime.AddRuntimeFilters
import org.apache.spark.sql.parquetry.scan.ListInputFiles

/**
 * Puts rules among those that a session runs last. Those that an extension can add itself run before there are scans with their
 * sizes, before IN and EXISTS are joins, and before Spark has put filters of its own. A plan is analysed before it is optimized, so
 * the rules are there for the first query, also where a user sets `spark.experimental.extraOptimizations`.
 */
case class RegisterLateRules(session: SparkSession) extends Rule[LogicalPlan] {
  private val rules = Seq[Rule[LogicalPlan]](AddRuntimeFilters, ListInputFiles)

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val methods = session.asInstanceOf[ClassicSession].experimental
    def missing = rules.filterNot(methods.extraOptimizations.contains)
    if (missing.nonEmpty) methods.synchronized { methods.extraOptimizations = methods.extraOptimizations ++ missing }
    plan
  }
}
