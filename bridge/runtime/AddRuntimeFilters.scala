package org.apache.spark.sql.parquetry.runtime

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.sql.catalyst.expressions.{DynamicPruning, DynamicPruningSubquery, ExprId, Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Subquery}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.{TreeNodeTag, TreePattern}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.predicates.{ExpressionTrees, FieldPath}
import org.apache.spark.sql.parquetry.protocol.{Bridge, CatalogRef, EncodedList, JoinsAnswer, Json, Outcome, Settings, VerdictAnswer}
import org.apache.spark.sql.parquetry.scan.{FewerFiles, ParquetryScan}

/** A candidate for a runtime filter, with the planner's verdict. */
case class RuntimeVerdict(candidate: RuntimeCandidate, verdict: VerdictAnswer) {
  /** The ids of the subqueries that give the scan its values, in filters of ours or in Spark's own. */
  def filters: Seq[ExprId] =
    if (verdict.wanted) candidate.exprIds else candidate.sparksFilter.filter(_ => verdict.how == Outcome.Spark).map(_.exprId).toSeq
}

/**
 * Adds runtime filters to scans of our tables, where Spark adds none. The planner judges which joins' values
 * are worth it. A filter has the form of Spark's own filters: a `DynamicPruningSubquery` right above the
 * scan.
 *
 * Spark takes the values from the join's broadcast if there is one. If there is none, Spark runs the build
 * side once more, provided that the verdict allows it.
 */
object AddRuntimeFilters extends Rule[LogicalPlan] {
  /** The verdicts on a join's candidates. A join with this tag is not judged again. */
  val judged = TreeNodeTag[Seq[RuntimeVerdict]]("parquetry.runtime")

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val after = filtered(plan)
    after.foreach {
      case Filter(condition, child) if condition.exists(arrives) => child.foreach {
        case relation: DataSourceV2ScanRelation if condition.references.exists(relation.outputSet.contains) => relation.scan match {
          case scan: ParquetryScan => scan.awaitValues()
          case _ =>
        }
        case _ =>
      }
      case _ =>
    }
    after
  }

  /** Whether an expression has a value only when the query runs. */
  private def arrives(e: Expression): Boolean = e.isInstanceOf[DynamicPruning] || e.isInstanceOf[SubqueryExpression]

  private def filtered(plan: LogicalPlan): LogicalPlan = plan match {
    case correlated: Subquery if correlated.correlated => plan
    case _ if !conf.dynamicPartitionPruningEnabled || !plan.containsPattern(TreePattern.JOIN) || plan.isStreaming => plan
    case _ if !plan.exists(ours) => plan
    case _ => decided(KeepSharedSubqueryScans(RemoveRecursiveFilters(plan), judge(_, knownFirst = false)), Bridge.terms.limits.planningRounds)
  }

  /**
   * Uses plan-time values first. They narrow a scan, and a narrower scan may have plan-time values for the
   * tables that it is joined with.
   */
  private def decided(plan: LogicalPlan, rounds: Int): LogicalPlan = {
    val joins = RemoveRecursiveFilters.outside(plan).collect { case join: Join if join.getTagValue(judged).isEmpty => join }
    val candidates = if (joins.isEmpty) Nil else new RuntimeCandidates(plan, joins).all
    val each = judge(candidates, knownFirst = rounds > 0)
    val known = if (rounds == 0) Nil
      else each.filter(one => one.verdict.how == Outcome.Known && one.candidate.planTimeValues.exists(_.tree.isDefined)).map(_.candidate)
    if (known.nonEmpty) decided(narrowed(plan, known), rounds - 1)
    else {
      val sparks = RuntimeTuples.sparks(each)
      val without = if (sparks.isEmpty) plan else RuntimeTuples.without(plan, sparks)
      if (without fastEquals plan) placed(plan, joins, RuntimeTuples.of(each)) else decided(without, rounds)
    }
  }

  private def placed(plan: LogicalPlan, joins: Seq[Join], verdicts: Seq[RuntimeVerdict]): LogicalPlan = {
    joins.foreach(join => join.setTagValue(judged, verdicts.filter(_.candidate.join eq join)))
    val wanted = verdicts.filter(_.verdict.wanted)
    if (wanted.isEmpty) plan else new RuntimePlacement(plan, wanted).everywhere
  }

  private def narrowed(plan: LogicalPlan, known: Seq[RuntimeCandidate]): LogicalPlan = {
    val fewer = known.map(_.source.scan).distinctBy(System.identityHashCode).map(scan => scan ->
      known.filter(_.source.scan eq scan).flatMap(_.planTimeValues).filter(_.tree.isDefined).distinctBy(_.tree).foldLeft(scan)((scan, values) =>
        scan.withPlanTimeValues(values.tree.get, values.condition)))
    def replaced(plan: LogicalPlan): LogicalPlan = plan.transform {
      case relation: DataSourceV2ScanRelation =>
        fewer.find(_._1 eq relation.scan).fold[LogicalPlan](relation) { case (all, scan) => FewerFiles(relation, all, scan) }
      case filter @ Filter(condition, _) if condition.exists(_.isInstanceOf[DynamicPruningSubquery]) =>
        filter.copy(condition = RuntimePlacement.inSparks(condition)(replaced))
    }
    replaced(plan)
  }

  private def ours(plan: LogicalPlan): Boolean = plan match {
    case relation: DataSourceV2ScanRelation => relation.scan.isInstanceOf[ParquetryScan]
    case _ => false
  }

  /**
   * Asks for the verdicts on the candidates of each catalog, in one question. It leaves out candidates that
   * cannot gain: the planner says in the report why not.
   *
   * @param knownFirst whether plan-time values that can be used are the whole answer, since they come first
   */
  private def judge(candidates: Seq[RuntimeCandidate], knownFirst: Boolean): Seq[RuntimeVerdict] =
    candidates.groupBy(_.source.scan.table.ref).toSeq.flatMap { case (catalog, all) =>
      val some = all.filter(_.mayGain)
      val verdicts = some.zip(if (some.isEmpty) Nil else some.head.source.scan.table.askOfSeveral(
        "plan_joins", EncodedList("candidates", some.map(described(_, catalog))), Settings.field, "known_first" -> JBool(knownFirst))
        .as[JoinsAnswer].verdicts)
      all.map(one => RuntimeVerdict(one, verdicts.collectFirst { case (same, verdict) if same eq one => verdict }.getOrElse(hopeless)))
    }
  private val hopeless = VerdictAnswer(Outcome.Refused, "", None)

  private def described(candidate: RuntimeCandidate, catalog: CatalogRef): String = {
    val question = JObject(candidate.source.scan.table.identity.toList ++ List[JField](
      Json.readOptions(candidate.source.relation.relation.options),
      "predicates" -> JArray(candidate.source.scan.asked.toList),
      "columns" -> Json.strings(FieldPath.names(candidate.source.key)),
      "expression" -> (if (candidate.source.form == "function") ExpressionTrees.ofKey(candidate.source.key) else JNull),
      "values_of" -> candidate.valuesOf.filter(_.table.ref == catalog).fold[JValue](JNull)(scan =>
        JObject(scan.table.identity.toList :+ ("predicates" -> JArray(scan.asked.toList): JField)))))
    s"""${compact(question).dropRight(1)},"facts":${candidate.facts.brief}}"""
  }
}
