package org.apache.spark.sql.parquetry

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{And, DynamicPruningSubquery, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Puts filters above the scans that they are for. What values come from may read scans that filters are for, too: there only those
 * are put that are plain, with values of nothing that has filters itself. Three tables of which each has values for the others would
 * else be in each other's plans without an end.
 */
class RuntimePlacement(wanted: Seq[RuntimeVerdict]) {
  private val plain = wanted.filter(w => within(w.candidate.build, wanted).isEmpty)
  /** Where a broadcast serves, its side has no filter that is not in the plan of the values: Spark finds the same plan only. */
  private val used = wanted.filter(w => plain.contains(w) ||
    !wanted.exists(one => one.candidate.shared && within(one.candidate.build, Seq(w)).nonEmpty))
  private val builds = mutable.Map.empty[RuntimeVerdict, LogicalPlan]

  def on(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case relation: DataSourceV2ScanRelation => filtered(relation, used, built)
    case filter @ Filter(condition, _) if condition.exists(_.isInstanceOf[DynamicPruningSubquery]) =>
      filter.copy(condition = RuntimePlacement.inSparks(condition)(build => if (weight(build) > mostInside) build else on(build)))
  }

  /** How many filters would be put into a plan. */
  private def weight(plan: LogicalPlan): Int = plan.collectWithSubqueries {
    case relation: DataSourceV2ScanRelation => used.count(_.candidate.source.scan eq relation.scan)
  }.sum
  /** What Spark would broadcast has few tables; of its other filters, each of a side of many joins, there may be dozens in each other. */
  private val mostInside = 8

  private def built(found: RuntimeVerdict): LogicalPlan = builds.getOrElseUpdate(found, found.candidate.build.transformUp {
    case relation: DataSourceV2ScanRelation => filtered(relation, plain, _.candidate.build)
  })

  private def filtered(
      relation: DataSourceV2ScanRelation, filters: Seq[RuntimeVerdict], build: RuntimeVerdict => LogicalPlan): LogicalPlan =
    filters.filter(_.candidate.source.scan eq relation.scan).map(w => w.candidate.filter(build(w), w.verdict.onlyShared))
      .reduceOption(And(_, _)).fold[LogicalPlan](relation)(Filter(_, relation))

  private def within(plan: LogicalPlan, filters: Seq[RuntimeVerdict]): Seq[RuntimeVerdict] = {
    val scans = plan.collectLeaves().collect { case relation: DataSourceV2ScanRelation => relation.scan }
    filters.filter(w => scans.exists(_ eq w.candidate.source.scan))
  }
}

object RuntimePlacement {
  /** Changes what Spark's own filters take their values from: only what is the same as a join's side is found to be its broadcast. */
  def inSparks(condition: Expression)(change: LogicalPlan => LogicalPlan): Expression = condition.transform {
    case sparks: DynamicPruningSubquery => sparks.withNewPlan(change(sparks.plan))
  }
}
