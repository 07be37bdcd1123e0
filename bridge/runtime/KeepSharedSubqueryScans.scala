package org.apache.spark.sql.parquetry.runtime

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.joingraph.{JoinGraph, SharedScans}
import org.apache.spark.sql.parquetry.predicates.BalancedChains
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * Keeps shared what a query and its scalar subquery read alike, the subquery without a condition:
 *
 *     SELECT … FROM sales JOIN returns … JOIN item … WHERE colour = 'red' … HAVING sum(paid) > (SELECT avg(paid) FROM sales JOIN returns … JOIN item …)
 *
 * Spark shuffles the returns once for both. With a filter by the red items it would read some of them a
 * second time. So this rule removes Spark's own filters from such scans: filters whose build side has no
 * condition, and in the query itself also filters of data columns.
 */
object KeepSharedSubqueryScans extends PredicateHelper {
  /** @param refused returns the verdicts on candidates of the subquery whose filters are removed */
  def apply(plan: LogicalPlan, refused: Seq[RuntimeCandidate] => Seq[RuntimeVerdict]): LogicalPlan =
    if (!SQLConf.get.exchangeReuseEnabled ||
        !plan.containsAllPatterns(TreePattern.SCALAR_SUBQUERY, TreePattern.DYNAMIC_PRUNING_SUBQUERY)) plan
    else {
      val sharedScans = new SharedScans(without(plan, _ => true))
      val shared = plan.collectLeaves().map(scan => scan -> sharedScans.inSubqueries(scan)).filter(_._2.nonEmpty)
      val scans = shared.flatMap { case (scan, others) => scan +: others }
      if (scans.isEmpty) plan
      else {
        shared.flatMap(_._2).foreach { case relation: DataSourceV2ScanRelation => refuse(plan, relation, refused) }
        without(plan, relation => scans.exists(_ eq relation))
      }
    }

  private def without(plan: LogicalPlan, which: DataSourceV2ScanRelation => Boolean): LogicalPlan =
    removed(plan, which, (found, scan) => found.pruningKey.references.exists(a => !scan.partitionSchema.fieldNames.contains(a.name)))
      .transformAllExpressionsWithPruning(_.containsPattern(TreePattern.SCALAR_SUBQUERY)) {
        case subquery: ScalarSubquery => subquery.withNewPlan(below(subquery.plan, which))
      }
  private def below(plan: LogicalPlan, which: DataSourceV2ScanRelation => Boolean): LogicalPlan =
    removed(plan, which, (_, _) => false).transformAllExpressionsWithPruning(_.containsPattern(TreePattern.SCALAR_SUBQUERY)) {
      case subquery: ScalarSubquery => subquery.withNewPlan(below(subquery.plan, which))
    }

  /** Removes runtime filters from some scans: filters whose build side has no condition, and others. */
  private def removed(
      plan: LogicalPlan, which: DataSourceV2ScanRelation => Boolean, also: (DynamicPruningSubquery, ParquetryScan) => Boolean): LogicalPlan =
    plan.transform {
      case filter @ Filter(condition, relation @ ScanRelation(_, scan: ParquetryScan, _, _, _)) if which(relation) =>
        val (found, others) = splitConjunctivePredicates(condition).partition {
          case found: DynamicPruningSubquery => !JoinGraph.selective(found.buildQuery) || also(found, scan)
          case _ => false
        }
        if (found.isEmpty) filter else BalancedChains.all(others).fold[LogicalPlan](relation)(Filter(_, relation))
    }

  private def refuse(plan: LogicalPlan, relation: DataSourceV2ScanRelation, refused: Seq[RuntimeCandidate] => Seq[RuntimeVerdict]): Unit =
    for (subquery <- SharedScans.scalar(plan); join <- subquery.collect { case join: Join => join }; verdicts <- join.getTagValue(AddRuntimeFilters.judged)) {
      val (ofScan, others) = verdicts.partition(one => one.verdict.wanted && (one.candidate.source.scan eq relation.scan))
      if (ofScan.nonEmpty) join.setTagValue(AddRuntimeFilters.judged,
        others ++ refused(ofScan.map(one => one.candidate.withFacts(one.candidate.facts.copy(readOnce = true)))))
    }
}
