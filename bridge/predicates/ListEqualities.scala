package org.apache.spark.sql.parquetry.predicates

import org.apache.spark.sql.catalyst.expressions.{And, EqualTo, Expression, In, Not, Or, PredicateHelper}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.{AND, OR}
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.types.{AtomicType, DoubleType, FloatType}

/**
 * Many equalities of one expression become one IN, and many inequalities one NOT IN.
 *
 * Programs write `id = 1 OR id = 2 OR …` with thousands of values. Spark generates code for each equality and
 * for each OR, once for each column that an UPDATE sets, and ends without memory. It looks up the values of a
 * long IN in a set.
 */
object ListEqualities extends Rule[LogicalPlan] with PredicateHelper {
  /** Spark generates code for each value of an IN with so few, too. */
  private val Few = 10

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformWithSubqueries {
    case node => node.transformExpressionsDownWithPruning(_.containsAnyPattern(AND, OR)) {
      case or: Or => listed(splitDisjunctivePredicates(or), { case EqualTo(a, b) => (a, b) }, In(_, _))
        .flatMap(BalancedChains.any).getOrElse(or)
      case and: And => listed(splitConjunctivePredicates(and), { case Not(EqualTo(a, b)) => (a, b) }, (e, values) => Not(In(e, values)))
        .flatMap(BalancedChains.all).getOrElse(and)
    }
  }

  /** The parts, with one list in place of many comparisons of one expression, or None if none has many. */
  private def listed(
      parts: Seq[Expression],
      compared: PartialFunction[Expression, (Expression, Expression)],
      list: (Expression, Seq[Expression]) => Expression): Option[Seq[Expression]] = {
    val found = if (parts.length > Few) parts.map(compared.lift(_).flatMap(withConstant)) else Nil
    val lists = found.flatten.groupMap(_._1.canonicalized)(identity).filter(_._2.length > Few)
    Option.when(lists.nonEmpty) {
      lists.values.map(each => list(each.head._1, each.map(_._2).distinct)).toSeq ++
        parts.zip(found).collect { case (part, pair) if !pair.exists(each => lists.contains(each._1.canonicalized)) => part }
    }
  }

  /** An expression and the constant that it is compared with, if a set finds equal values of its type. */
  private def withConstant(sides: (Expression, Expression)): Option[(Expression, Expression)] =
    Seq(sides, sides.swap).find { case (e, constant) => constant.foldable && !e.foldable && e.deterministic && (e.dataType match {
      case FloatType | DoubleType => false // 0.0 and -0.0 are equal
      case kind => kind.isInstanceOf[AtomicType] && UnsafeRowUtils.isBinaryStable(kind)
    }) }
}
