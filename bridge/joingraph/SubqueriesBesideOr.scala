package org.apache.spark.sql.parquetry.joingraph

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.ExistenceJoin
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project, Union}

/**
 * Subqueries beside OR. Spark joins each subquery so that a row knows whether it has a match, and a filter
 * above drops rows:
 *
 * {{{
 * Filter (first OR second OR x = 4)
 *   Join f.x = e.x, ExistenceJoin(second)
 *     Join f.day = d.day, ExistenceJoin(first)      f: day = d.day OR x = e.x OR x = 4
 * }}}
 *
 * The values of several subqueries come as rows of one plan, their UNION. A row has the values of one
 * subquery, and NULL for all others. So only its own part of the condition holds.
 *
 * @param join the lowest of the joins
 * @param left the plan whose rows are tested
 * @param build gives the values
 * @param condition on the rows of `left`, with the values of `build`: a row that passes the filter satisfies
 *   it with one of the rows of `build`
 * @param on the joins' own conditions, for reports
 */
case class SubqueriesBesideOr(join: Join, left: LogicalPlan, build: LogicalPlan, condition: Expression, on: Expression)

object SubqueriesBesideOr extends PredicateHelper {
  private case class Existence(join: Join, exists: Attribute, on: Expression)

  /** The subqueries of each conjunct of a filter. */
  def of(filter: Filter): Seq[SubqueriesBesideOr] = {
    val all = below(filter.child)
    for {
      conjunct <- splitConjunctivePredicates(filter.condition)
      condition <- positive(conjunct, all)
      used = all.filter(one => condition.references.contains(one.exists)) if used.nonEmpty
    } yield {
      val (build, on) = together(used)
      val matched = condition.transform { case a: Attribute => used.indexWhere(_.exists.exprId == a.exprId) match {
        case -1 => a
        case at => on(at)
      } }
      SubqueriesBesideOr(used.last.join, used.last.join.left, build, matched, used.map(_.on).reduce(Or(_, _)))
    }
  }

  /** The joins right below a filter, from the top. */
  private def below(plan: LogicalPlan): Seq[Existence] = plan match {
    case project: Project => below(project.child)
    case join @ Join(left, _, ExistenceJoin(exists), on, _) => on.map(Existence(join, exists, _)).toSeq ++ below(left)
    case _ => Nil
  }

  /**
   * The condition without the matches that a row of one subquery alone says nothing of: of `a AND b`, with a
   * match on both sides, only one side is used. None if a match does not only help a row to pass.
   */
  private def positive(condition: Expression, all: Seq[Existence]): Option[Expression] = {
    def matches(e: Expression) = all.exists(one => e.references.contains(one.exists))
    condition match {
      case And(a, b) if matches(a) && matches(b) => positive(a, all).orElse(positive(b, all))
      case And(a, b) => (positive(a, all) ++ positive(b, all)).reduceOption(And(_, _))
      case Or(a, b) => for (x <- positive(a, all); y <- positive(b, all)) yield Or(x, y)
      case one: Attribute if matches(one) => Some(one)
      case other => Option.unless(matches(other))(other)
    }
  }

  /** One plan with the rows of all subqueries, and their joins' conditions by its columns. */
  private def together(used: Seq[Existence]): (LogicalPlan, Seq[Expression]) =
    if (used.length == 1) (used.head.join.right, used.map(_.on))
    else {
      val columns = used.map(one => one.join.right.output.filter(one.on.references.contains))
      val union = Union(used.indices.map(at => Project(columns.zipWithIndex.flatMap { case (some, of) =>
        some.map(a => Alias(if (of == at) a else Literal(null, a.dataType), a.name)())
      }, used(at).join.right)))
      val begins = columns.scanLeft(0)(_ + _.length)
      // two subqueries may have the same columns
      val on = used.indices.map { at =>
        val own = AttributeMap(columns(at).zip(union.output.drop(begins(at))))
        used(at).on.transform { case a: Attribute => own.getOrElse(a, a) }
      }
      (union, on)
    }
}
