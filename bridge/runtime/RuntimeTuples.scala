package org.apache.spark.sql.parquetry.runtime

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.parquetry.joingraph.{KeySource, KeyTuple, LogicalNames}
import org.apache.spark.sql.parquetry.predicates.BalancedChains
import org.apache.spark.sql.parquetry.protocol.Outcome

/** Combines candidates whose values the planner wants as tuples. */
object RuntimeTuples extends PredicateHelper {
  /** The verdicts, with one for each tuple in place of its keys' verdicts. */
  def of(verdicts: Seq[RuntimeVerdict]): Seq[RuntimeVerdict] = {
    // Each catalog's planner begins with the number 0.
    def group(one: RuntimeVerdict) = (one.candidate.source.scan.table.ref, one.verdict.tuple)
    val numbered = verdicts.filter(_.verdict.tuple.isDefined)
    val tuples = numbered.map(group).distinct.flatMap { number =>
      val some = numbered.filter(group(_) == number)
      val (used, evaluated) = usable(some.map(_.candidate.source))
      val members = used.map(some)
      Option.when(members.nonEmpty)(members).flatMap(asTuple(_, evaluated)).map(members -> _)
    }
    verdicts.filterNot(one => tuples.exists(_._1.exists(_ eq one))) ++ tuples.map(_._2)
  }

  /**
   * The keys among some that make a tuple, by their indices, and whether Spark evaluates them: all are of
   * partition columns, and one is computed.
   */
  private def usable(sources: Seq[KeySource]): (Seq[Int], Boolean) = {
    val tuple = KeyTuple(sources.map(_.key), sources.indices)
    val (used, ofPartitions) = (sources.indices.filter(tuple.uses), sources.indices.filter(sources(_).ofPartitions))
    val evaluated = used.forall(ofPartitions.contains) && tuple.columns.exists(_.of.isDefined)
    (if (evaluated) ofPartitions else used, evaluated)
  }

  /** The tuples of a join's keys that are known in planning, one for each scan that the keys come from. */
  def ofPlanTimeValues(keyed: Seq[RuntimeCandidate]): Seq[RuntimeCandidate] =
    keyed.filter(one => one.mayGain && one.source.scan.files > 1 && one.facts.filterable && one.facts.tupleColumn.isDefined)
      .groupBy(one => (System.identityHashCode(one.source.relation), one.facts.side, one.source.steps.map(_.node))).values.toSeq.flatMap { some =>
        val (used, evaluated) = usable(some.map(_.source))
        val members = used.map(some)
        val tuple = KeyTuple(members.map(_.source.key), members.indices, evaluated)
        if (tuple.columns.length < 2) None
        else PlanTimeValues.ofTuples(members.head.source, tuple, members.map(_.buildKey), members.head.build)
          .filter(values => values.complete || values.tree.isDefined).map(byPlanTimeValues(members, tuple, _))
      }

  private def byPlanTimeValues(members: Seq[RuntimeCandidate], tuple: KeyTuple, values: PlanTimeValues): RuntimeCandidate = {
    val first = members.head
    val steps = members.map(_.source.steps).transpose.map(same => same.head.copy(keyed = same.forall(_.keyed), deterministic = same.forall(_.deterministic)))
    val facts = first.facts.copy(
      column = tuple.sql, form = "tuple", steps = steps, tupleColumn = None, shared = false, known = Some(values.facts), held = None, placed = None,
      build = first.facts.build.copy(key = KeyTuple.text(members.map(one => LogicalNames.of(one.buildKey)))))
    first.copy(source = first.source.copy(key = tuple, steps = steps), values = ValueSource(first.build, members.map(_.buildKey), 0), shared = false,
      planTimeValues = Some(values), valuesOf = None, sparksFilter = None).withFacts(facts)
  }

  /** The candidates for tuples that Spark has its own filters for, one for each key. */
  def sparks(verdicts: Seq[RuntimeVerdict]): Seq[RuntimeCandidate] =
    verdicts.filter(one => one.verdict.tuple.isDefined && one.verdict.how == Outcome.Spark).map(_.candidate)

  /** Removes Spark's own filters of some candidates from a plan. */
  def without(plan: LogicalPlan, sparks: Seq[RuntimeCandidate]): LogicalPlan = plan.transform {
    case filter @ Filter(condition, child) if condition.exists(_.isInstanceOf[DynamicPruningSubquery]) =>
      val kept = splitConjunctivePredicates(condition).filter {
        case pruning: DynamicPruningSubquery => !sparks.exists(_.isOf(pruning))
        case _ => true
      }
      BalancedChains.all(kept.map(RuntimePlacement.inSparks(_)(without(_, sparks))))
        .fold[LogicalPlan](child)(all => if (all fastEquals condition) filter else filter.copy(condition = all))
  }

  private def asTuple(members: Seq[RuntimeVerdict], evaluated: Boolean): Option[RuntimeVerdict] = {
    val candidates = members.map(_.candidate)
    val first = candidates.head
    val (keys, keyIndices) =
      if (first.shared) (first.keys, candidates.map(_.values.keyIndex))
      else (candidates.map(_.buildKey), candidates.indices)
    val tuple = KeyTuple(candidates.map(_.source.key), keyIndices, evaluated)
    val texts = tuple.columns.map { column =>
      val key = keys(keyIndices(column.at))
      LogicalNames.of(key match {
        case Coalesce(Seq(of, _: Literal)) if column.flag.isDefined => of
        case other => other
      })
    }
    val facts = first.facts.copy(
      column = tuple.sql, form = "tuple", known = None, placed = None, held = None,
      build = first.facts.build.copy(key = KeyTuple.text(texts)))
    val verdict = Seq(Outcome.Shared, Outcome.Collected).flatMap(how => members.map(_.verdict).find(_.how == how)).headOption
    val candidate = first.copy(
      source = first.source.copy(key = tuple), values = ValueSource(first.build, keys, keyIndices.head), planTimeValues = None, valuesOf = None)
      .withFacts(facts)
    verdict.filter(_ => tuple.columns.length > 1).map(RuntimeVerdict(candidate, _))
  }
}
