package org.apache.spark.sql.parquetry

import java.util.{Collections, IdentityHashMap}

import scala.collection.mutable

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.{
  DynamicPruning, DynamicPruningExpression, ExprId, Expression, ScalarSubquery => LogicalScalarSubquery, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** What was said of values that the joins of a query could find, and how many the scans got. */
object RuntimeFacts {
  def of(query: QueryExecution): Seq[JValue] = {
    val judged = said(joins(query.optimizedPlan, forValues(query.optimizedPlan)))
    lazy val got = gathered(query.executedPlan)
    judged.map(each => JObject("candidate" -> each.candidate.facts,
      "verdict" -> JObject("how" -> JString(each.verdict.how), "reason" -> JString(each.verdict.reason)),
      "gathered" -> (if (each.verdict.wanted) got.getOrElse(each.candidate.exprId, JNull) else JNull)))
  }

  private def said(joins: Seq[Join]): Seq[RuntimeVerdict] =
    joins.flatMap(_.getTagValue(RuntimeFilters.judged)).flatten.distinctBy(System.identityHashCode)

  /** The subqueries of a plan that find the ends of ranges: in what they read, joins are those of the query once more. */
  def forValues(plan: LogicalPlan): Set[ExprId] = said(plan.collectWithSubqueries { case join: Join => join })
    .flatMap(each => JoinRanges.extremes(each.candidate.source.key).map(_.exprId)).toSet

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

  private def gathered(plan: SparkPlan): Map[ExprId, JValue] = {
    val seen = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
    val found = mutable.Map.empty[ExprId, JValue]
    def visit(plan: SparkPlan): Unit = if (seen.add(plan)) {
      plan match {
        case scan: BatchScanExec => scan.runtimeFilters.foreach {
          case DynamicPruningExpression(in: InSubqueryExec) =>
            val values = in.values()
            if (values.isDefined || !found.contains(in.exprId)) found(in.exprId) = JObject(
              "values" -> values.fold[JValue](JNull)(v => JInt(v.length)), "shared" -> JBool(shared(in.plan)),
              "missed" -> missed(in.plan).fold[JValue](JNull)(JInt(_)))
          case ranges => ranges.foreach {
            case end: ScalarSubquery => found(end.exprId) = JObject("values" -> JNull, "shared" -> JBool(false))
            case _ =>
          }
        }
        case _ =>
      }
      (plan match {
        case adaptive: AdaptiveSparkPlanExec => Seq(adaptive.executedPlan)
        case stage: QueryStageExec => Seq(stage.plan)
        case other => other.children
      }).foreach(visit)
      plan.subqueries.foreach(visit)
    }
    visit(plan)
    found.toMap
  }

  private def missed(plan: BaseSubqueryExec): Option[Long] = plan match {
    case within: SubqueryInTime if within.tooLate => Some(within.most)
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
