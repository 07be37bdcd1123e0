package org.apache.spark.sql.parquetry.audit

import org.json4s._

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.parquetry.filescans.PlanNodes

/** What the audit of a query has found, for its report. */
object AuditOutcome {
  /** The claims of a plan that were checked, and those that were not, or JNothing if it was not audited. */
  def of(plan: SparkPlan): JValue = PlanNodes(plan).collectFirst { case node: AuditExec => node.audit.outcome }.getOrElse(JNothing)
}
