package org.apache.spark.sql.parquetry.buckets

import org.apache.spark.sql.catalyst.expressions.ScalarSubquery
import org.apache.spark.sql.catalyst.plans.FullOuter
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Subquery}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.{TreeNodeTag, TreePattern}
import org.apache.spark.sql.parquetry.joingraph.{BroadcastSide, EquiJoin}
import org.apache.spark.sql.parquetry.rowlayout.{InBuckets, PlanGraph, StayInBuckets}

/**
 * Has joins of bucketed tables shuffle as few rows as possible. The planner chooses for all joins of a plan
 * (`joins/plan/decide.py`), from their graph; this rule changes the scans:
 *
 *  - Both sides report one number of buckets to Spark, where Spark does not fold the larger number.
 *  - A scan is read in place, bucket by bucket, where Spark would shuffle both sides: one is in no buckets,
 *    in others, or in buckets only in part. Spark then shuffles what is not in these buckets, and that alone,
 *    by the hash of the files (`BucketPartitioning`).
 *  - Several tasks read a hot bucket (`HideBuckets`).
 *
 * {{{
 * bucketed ⋈ unbucketed                one old partition of ten without buckets
 *
 * SortMergeJoin                        SortMergeJoin
 * ├ InBuckets                          ├ ZipBuckets
 * │   scan, bucket i in partition i    │ ├ InBuckets
 * └ Exchange buckets(…)                │ │   scan of nine partitions
 *     scan                             │ └ Exchange buckets(…)
 *                                      │     scan of the old one
 *                                      └ …
 * }}}
 *
 * Each join is decided once: the rule changes nothing when Spark runs it again.
 */
object JoinInBuckets extends Rule[LogicalPlan] {
  /** Marks joins that the planner has decided about. */
  private val decided = TreeNodeTag[Boolean]("parquetry.placed")

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _: Subquery => plan // comes again as part of its query
    case _ if !conf.v2BucketingEnabled || plan.isStreaming => plan
    case _ => inSubqueries(if (plan.containsPattern(TreePattern.JOIN)) inQuery(plan) else plan)
  }

  /** Changes the joins of scalar subqueries: all others have become joins of the query. */
  private def inSubqueries(plan: LogicalPlan): LogicalPlan =
    plan.transformAllExpressionsWithPruning(_.containsPattern(TreePattern.SCALAR_SUBQUERY)) {
      case scalar: ScalarSubquery if scalar.outerAttrs.isEmpty =>
        val other = apply(scalar.plan)
        if (other eq scalar.plan) scalar else scalar.withNewPlan(other)
    }

  private def inQuery(plan: LogicalPlan): LogicalPlan = {
    val joins = plan.collect { case join: Join if BroadcastSide.find(join).isEmpty => join }
    if (joins.forall(_.getTagValue(decided).isDefined)) plan
    else {
      val graph = PlanGraph.of(plan, conf)
      joins.foreach(_.setTagValue(decided, true))
      if (graph.isWorthAsking) afterFullJoins(new ChosenLayouts(graph, graph.ask())(plan)) else plan
    }
  }

  /** Has the rows of FULL joins keep their buckets: for Spark, they are in none. */
  private def afterFullJoins(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case join: Join if join.joinType == FullOuter && BroadcastSide.find(join).isEmpty && EquiJoin.unapply(join).isDefined &&
        join.exists(node => node.isInstanceOf[InBuckets]) => StayInBuckets(join)
  }
}
