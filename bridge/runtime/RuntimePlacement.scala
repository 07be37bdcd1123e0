package org.apache.spark.sql.parquetry.runtime

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{DynamicPruningSubquery, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.predicates.BalancedChains
import org.apache.spark.sql.parquetry.protocol.{Bridge, Outcome}

/**
 * Puts filters above their scans. A build side may read scans with filters, too. Within a build side only
 * plain filters are put: filters whose own build side has no filters. Otherwise the plans of three tables
 * that all have values for each other would contain each other without end.
 */
class RuntimePlacement(plan: LogicalPlan, wanted: Seq[RuntimeVerdict]) {
  /**
   * Build sides whose broadcast gives values to a filter, ours or Spark's own. Spark must find the broadcast
   * again.
   */
  private val broadcasts = wanted.map(_.candidate).filter(_.shared).map(_.build) ++ plan.collect { case Filter(condition, _) =>
    condition.collect { case sparks: DynamicPruningSubquery if sparks.onlyInBroadcast => sparks.plan }
  }.flatten
  private val placed = wanted.filterNot(w => w.verdict.how == Outcome.Shared && withinBroadcast(w))
  private val plain = placed.filter(w => within(w.candidate.build, placed).isEmpty)
  /**
   * The filters to be put into the query. A side whose broadcast gives values gets only filters that the plan
   * of the values has, too: Spark reuses a broadcast only for an equal plan.
   */
  private val used = placed.filter(w => plain.contains(w) ||
    !placed.exists(one => one.candidate.shared && within(one.candidate.build, Seq(w)).nonEmpty))
  private val builds = mutable.Map.empty[RuntimeVerdict, LogicalPlan]

  def everywhere: LogicalPlan = on(plan)

  private def on(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case relation: DataSourceV2ScanRelation => filtered(relation, used, built)
    case filter @ Filter(condition, _) if condition.exists(_.isInstanceOf[DynamicPruningSubquery]) =>
      filter.copy(condition = RuntimePlacement.inSparks(condition)(build => if (weight(build) > Bridge.terms.limits.nestedFilters) build else on(build)))
  }

  /** The number of filters that would be put into a plan. */
  private def weight(plan: LogicalPlan): Int = plan.collectWithSubqueries {
    case relation: DataSourceV2ScanRelation => used.count(_.candidate.source.scan eq relation.scan)
  }.sum

  private def built(found: RuntimeVerdict): LogicalPlan = builds.getOrElseUpdate(found, found.candidate.build.transformUp {
    case relation: DataSourceV2ScanRelation => filtered(relation, plain, _.candidate.build)
  })

  private def filtered(
      relation: DataSourceV2ScanRelation, filters: Seq[RuntimeVerdict], build: RuntimeVerdict => LogicalPlan): LogicalPlan =
    BalancedChains.all(filters.filter(_.candidate.source.scan eq relation.scan)
      .map(w =>
        if (w.verdict.how == Outcome.Ends) w.candidate.betweenEnds(build(w))
        else w.candidate.filter(build(w), w.verdict.how == Outcome.Shared, runsAlone = withinBroadcast(w))))
      .fold[LogicalPlan](relation)(Filter(_, relation))

  /**
   * Whether a filter would be within a side whose broadcast gives values, with values of a join outside of
   * that side. Spark plans the side twice, in the query and for its values. Only in the query would it find
   * the other join's broadcast, so the two plans would differ.
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
   * Whether Spark's own filters within a side take values of a join outside of it. In the query they use that
   * join's broadcast. If the side is planned for its values, they have none. So Spark would not find the
   * side's broadcast again, but make it twice.
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

  /**
   * Changes the build sides in Spark's own filters, as Spark finds a join's broadcast only for an equal plan.
   */
  def inSparks(condition: Expression)(change: LogicalPlan => LogicalPlan): Expression = condition.transform {
    case sparks: DynamicPruningSubquery => sparks.withNewPlan(change(sparks.plan))
  }
}
