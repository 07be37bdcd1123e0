package org.apache.spark.sql.parquetry.runtime

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{And, DynamicPruningSubquery, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.protocol.{Bridge, Outcome}

/**
 * Puts filters above the scans that they are for. What values come from may read scans that filters are for, too: there only those
 * are put that are plain, with values of nothing that has filters itself. Three tables of which each has values for the others would
 * else be in each other's plans without an end.
 */
class RuntimePlacement(plan: LogicalPlan, wanted: Seq[RuntimeVerdict]) {
  /** Sides of joins that Spark is to find again as broadcasts: those of which the values are taken, by us and by Spark itself. */
  private val broadcasts = wanted.map(_.candidate).filter(_.shared).map(_.build) ++ plan.collect { case Filter(condition, _) =>
    condition.collect { case sparks: DynamicPruningSubquery if sparks.onlyInBroadcast => sparks.plan }
  }.flatten
  private val placed = wanted.filterNot(w => w.verdict.outcome == Outcome.Shared && withinBroadcast(w))
  private val plain = placed.filter(w => within(w.candidate.build, placed).isEmpty)
  /** Where a broadcast serves, its side has no filter that is not in the plan of the values: Spark finds the same plan only. */
  private val used = placed.filter(w => plain.contains(w) ||
    !placed.exists(one => one.candidate.shared && within(one.candidate.build, Seq(w)).nonEmpty))
  private val builds = mutable.Map.empty[RuntimeVerdict, LogicalPlan]

  def everywhere: LogicalPlan = on(plan)

  private def on(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case relation: DataSourceV2ScanRelation => filtered(relation, used, built)
    case filter @ Filter(condition, _) if condition.exists(_.isInstanceOf[DynamicPruningSubquery]) =>
      filter.copy(condition = RuntimePlacement.inSparks(condition)(build => if (weight(build) > Bridge.terms.limits.nestedFilters) build else on(build)))
  }

  /** How many filters would be put into a plan. */
  private def weight(plan: LogicalPlan): Int = plan.collectWithSubqueries {
    case relation: DataSourceV2ScanRelation => used.count(_.candidate.source.scan eq relation.scan)
  }.sum

  private def built(found: RuntimeVerdict): LogicalPlan = builds.getOrElseUpdate(found, found.candidate.build.transformUp {
    case relation: DataSourceV2ScanRelation => filtered(relation, plain, _.candidate.build)
  })

  private def filtered(
      relation: DataSourceV2ScanRelation, filters: Seq[RuntimeVerdict], build: RuntimeVerdict => LogicalPlan): LogicalPlan =
    filters.filter(_.candidate.source.scan eq relation.scan)
      .map(w =>
        if (w.verdict.outcome == Outcome.Ends) w.candidate.betweenEnds(build(w))
        else w.candidate.filter(build(w), w.verdict.outcome == Outcome.Shared, alone = withinBroadcast(w)))
      .reduceOption(And(_, _)).fold[LogicalPlan](relation)(Filter(_, relation))

  /**
   * Whether a filter would be within a broadcast that serves others, with values of a join outside of it. Spark plans the broadcast once in
   * the query and once for its values: only in the query would it find the other join's broadcast, so the two would not be the same.
   */
  private def withinBroadcast(w: RuntimeVerdict): Boolean =
    broadcasts.exists(side => within(side, Seq(w)).nonEmpty && !side.exists(_ eq w.candidate.join))

  private def within(plan: LogicalPlan, filters: Seq[RuntimeVerdict]): Seq[RuntimeVerdict] = {
    val scans = plan.collectLeaves().collect { case relation: DataSourceV2ScanRelation => relation.scan }
    filters.filter(w => scans.exists(_ eq w.candidate.source.scan))
  }
}

object RuntimePlacement {
  /**
   * Whether Spark's own filters within a side take values of a join outside of it. In the query they have that join's broadcast, and where
   * the side is planned for its values they have none: a broadcast of the side would not be found again, but made twice.
   */
  def fromOutside(side: LogicalPlan): Boolean = side.exists {
    case Filter(condition, _) => condition.exists {
      case sparks: DynamicPruningSubquery => sparks.onlyInBroadcast && !side.exists {
        case join: Join => join.children.exists(_.canonicalized == sparks.plan.canonicalized)
        case _ => false
      }
      case _ => false
    }
    case _ => false
  }

  /** Changes what Spark's own filters take their values from: only what is the same as a join's side is found to be its broadcast. */
  def inSparks(condition: Expression)(change: LogicalPlan => LogicalPlan): Expression = condition.transform {
    case sparks: DynamicPruningSubquery => sparks.withNewPlan(change(sparks.plan))
  }
}
