package org.apache.spark.sql.parquetry.audit

import java.util.concurrent.atomic.AtomicLong

import org.json4s._

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.parquetry.filescans.PlanNodes

/** The outcome of a query's audit, for its report. */
object AuditOutcome {
  /** The number of claims that this JVM has checked. */
  private[parquetry] val checked = new AtomicLong
  def claims: Long = checked.get

  /** The checked and the unchecked claims of a plan, or JNothing if it was not audited. */
  def of(plan: SparkPlan): JValue = PlanNodes(plan).collectFirst { case node: AuditExec => node.audit.outcome }.getOrElse(JNothing)
}
