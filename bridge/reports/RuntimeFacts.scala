package org.apache.spark.sql.parquetry.reports

import java.util.{Collections, IdentityHashMap}

import scala.collection.mutable
import scala.util.Try

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.{
  DynamicPruning, DynamicPruningExpression, ExprId, Expression, ScalarSubquery => LogicalScalarSubquery, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.parquetry.filescans.ScanNode
import org.apache.spark.sql.parquetry.joingraph.JoinRanges
import org.apache.spark.sql.parquetry.protocol.Codec
import org.apache.spark.sql.parquetry.runtime.{AddRuntimeFilters, RuntimeVerdict, TimedSubquery, TupleSubquery}
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.values.InBoxes

/** The verdicts on a query's runtime filters, and how many values its scans got. */
object RuntimeFacts {
  def of(query: QueryExecution): Seq[JValue] = {
    val judged = said(joins(query.optimizedPlan, forValues(query.optimizedPlan)))
    lazy val got = new Gathered(query.executedPlan, judged.flatMap(_.filters).toSet)
    judged.map(each => JObject("candidate" -> each.candidate.facts.json,
      "verdict" -> JObject("how" -> JString(each.verdict.how.name), "reason" -> JString(each.verdict.reason)),
      "gathered" -> (each.filters match {
        case Nil => JNull
        case filters => got.of(filters).orElse(got.by(each)).orElse(got.without(each.candidate.source.scan)).fold[JValue](JNull)(Codec.encode)
      })))
  }

  private def said(joins: Seq[Join]): Seq[RuntimeVerdict] =
    joins.flatMap(_.getTagValue(AddRuntimeFilters.judged)).flatten.distinctBy(System.identityHashCode)

  /**
   * The ids of a plan's subqueries that compute ends of ranges: the joins in them repeat joins of the query.
   */
  def forValues(plan: LogicalPlan): Set[ExprId] = said(plan.collectWithSubqueries { case join: Join => join })
    .filter(each => JoinRanges.extremes(each.candidate.source.key).nonEmpty).flatMap(_.candidate.exprIds).toSet

  private def joins(plan: LogicalPlan, ends: Set[ExprId]): Seq[Join] = {
    def within(e: Expression): Seq[LogicalPlan] = e match {
      case _: DynamicPruning => Nil
      case end: LogicalScalarSubquery if ends(end.exprId) => Nil
      case subquery: SubqueryExpression => subquery.plan +: subquery.children.flatMap(within)
      case other => other.children.flatMap(within)
    }
    plan.collect { case join: Join => join } ++
      plan.collect { case node => node.expressions.flatMap(within) }.flatten.flatMap(joins(_, ends))
  }

  /**
   * The values that a filter has got; `Gathered` in `joins/runtime/candidates.py` decodes them.
   *
   * @param values number of values, if it is known
   * @param missed the time limit in milliseconds, if it ended before the values arrived
   * @param unused why arrived values prune nothing
   */
  private case class GatheredFacts(
      values: Option[Int], shared: Boolean, missed: Option[Long] = None, unused: Option[String] = None, scan: String = "read")

  /**
   * The values that the filters of an executed plan have got, by the ids of their subqueries.
   *
   * @param known the ids of the judged filters
   */
  private class Gathered(plan: SparkPlan, known: Set[ExprId]) {
    private val seen = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
    private val found = mutable.Map.empty[ExprId, GatheredFacts]
    private val others = mutable.Map.empty[ExprId, (ParquetryScan, Expression, GatheredFacts)]
    private val scans = mutable.ArrayBuffer.empty[ParquetryScan]
    visit(plan)

    /** The facts for filters that belong together: they prune something if one of them does. */
    def of(filters: Seq[ExprId]): Option[GatheredFacts] = {
      val all = filters.flatMap(found.get)
      all.find(_.unused.isEmpty).orElse(all.headOption)
    }
    /**
     * The facts for the only filter by a candidate's key, if its id is unknown. Without adaptive execution,
     * Spark 4.0 gives a filter another id if a plan runs for its values.
     */
    def by(judged: RuntimeVerdict): Option[GatheredFacts] = {
      val candidate = judged.candidate
      val key = if (judged.verdict.wanted) Some(candidate.source.widened.fold(candidate.source.key)(_._1)) else candidate.sparksFilter.map(_.pruningKey)
      val (some, none) = others.values.toSeq.collect { case (scan, by, facts) if scan.isVariantOf(candidate.source.scan) && key.exists(by.semanticEquals) => facts }
        .partition(_.values.exists(_ > 0)) // before 4.2, a node may have a filter without values beside (`RuntimeFilteredScan`)
      if (some.length > 1) None else some.headOption.orElse(none.headOption)
    }
    /** The facts for a scan that is not in the plan, or None if it is. */
    def without(scan: ParquetryScan): Option[GatheredFacts] = Option.when(!scans.exists(_.isVariantOf(scan)))(
      GatheredFacts(None, shared = false, scan = if (scans.exists(_.readsSame(scan))) "reused" else "gone"))

    private def visit(plan: SparkPlan): Unit = if (seen.add(plan)) {
      plan match {
        case ScanNode(scan: ParquetryScan, filters) =>
          scans += scan
          filters.foreach(add(_, scan))
        case _ =>
      }
      (plan match {
        case adaptive: AdaptiveSparkPlanExec => Seq(adaptive.executedPlan)
        case stage: QueryStageExec => Seq(stage.plan)
        case other => other.children
      }).foreach(visit)
      plan.subqueries.foreach(visit)
    }

    private def add(filter: Expression, scan: ParquetryScan): Unit = filter match {
      case DynamicPruningExpression(in: InSubqueryExec) =>
        val values = in.values()
        lazy val facts = GatheredFacts(values.map(_.distinct.length), shared(in.plan), missed(in.plan), unused(in, scan))
        if (values.isDefined || !found.contains(in.exprId)) found(in.exprId) = facts
        if (values.isDefined && !known(in.exprId)) others(in.exprId) = (scan, in.child, facts)
      case ranges =>
        lazy val told = unused(InBoxes.arrived(ranges), scan)
        ranges.foreach {
          case end: ScalarSubquery => found(end.exprId) = GatheredFacts(None, shared = false, unused = told)
          case _ =>
        }
    }
    private def unused(filter: => Expression, scan: ParquetryScan): Option[String] =
      Try(filter).toOption.flatMap(scan.ineffective) // fails for an end without a value yet
  }

  private def missed(plan: BaseSubqueryExec): Option[Long] = plan match {
    case within: TimedSubquery if within.tooLate => Some(within.most)
    case reused: ReusedSubqueryExec => missed(reused.child)
    case TupleSubquery(within: BaseSubqueryExec, _) => missed(within)
    case _ => None
  }

  private def shared(plan: BaseSubqueryExec): Boolean = plan match {
    case _: SubqueryBroadcastExec | _: SubqueryAdaptiveBroadcastExec => true
    case reused: ReusedSubqueryExec => shared(reused.child)
    case TupleSubquery(within: BaseSubqueryExec, _) => shared(within)
    case _ => false
  }
}
