package org.apache.spark.sql.parquetry.runtime

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.parquetry.joingraph.{KeyTuple, LogicalNames}
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
      val all = KeyTuple(some.map(_.candidate.source.key), some.indices)
      val members = some.indices.filter(all.uses).map(some)
      Option.when(members.nonEmpty)(members).flatMap(together).map(members -> _)
    }
    verdicts.filterNot(one => tuples.exists(_._1.exists(_ eq one))) ++ tuples.map(_._2)
  }

  /** The candidates for tuples that Spark has its own filters for, one for each key. */
  def sparks(verdicts: Seq[RuntimeVerdict]): Seq[RuntimeCandidate] =
    verdicts.filter(one => one.verdict.tuple.isDefined && one.verdict.how == Outcome.Spark).map(_.candidate)

  /** Removes Spark's own filters of some candidates from a plan. */
  def without(plan: LogicalPlan, sparks: Seq[RuntimeCandidate]): LogicalPlan = plan.transform {
    case filter @ Filter(condition, child) if condition.exists(_.isInstanceOf[DynamicPruningSubquery]) =>
      val kept = splitConjunctivePredicates(condition).filter {
        case found: DynamicPruningSubquery => !sparks.exists(_.isOf(found))
        case _ => true
      }
      kept.map(RuntimePlacement.inSparks(_)(without(_, sparks))).reduceOption(And(_, _))
        .fold[LogicalPlan](child)(all => if (all fastEquals condition) filter else filter.copy(condition = all))
  }

  private def together(members: Seq[RuntimeVerdict]): Option[RuntimeVerdict] = {
    val candidates = members.map(_.candidate)
    val first = candidates.head
    val (keys, places) =
      if (first.shared) (first.keys, candidates.map(_.place))
      else (candidates.map(one => one.keys(one.place)), candidates.indices)
    val tuple = KeyTuple(candidates.map(_.source.key), places)
    val texts = tuple.columns.map { column =>
      val key = keys(places(column.at))
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
      source = first.source.copy(key = tuple), keys = keys, place = places.head, known = None, valuesOf = None, facts = facts)
    verdict.filter(_ => tuple.columns.length > 1).map(RuntimeVerdict(candidate, _))
  }
}
