package org.apache.spark.sql.parquetry.values

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.execution.InSubqueryExec
import org.apache.spark.sql.parquetry.protocol.Bridge
import org.apache.spark.sql.types.AtomicType

/**
 * The condition that an expression has one of many values, such as runtime values. NULL is left out: it
 * equals nothing.
 */
case class Membership(of: Expression, values: Set[Any]) {
  private lazy val ordering = TypeUtils.getInterpretedOrdering(of.dataType)
  private def literal(value: Any) = Literal(value, of.dataType)
  private def least = literal(values.min(ordering))
  private def greatest = literal(values.max(ordering))
  private def few = values.size <= Bridge.terms.limits.listedValues

  /**
   * The condition, or the range of its values if they are many.
   */
  def bounds: Expression =
    if (few) InSet(of, values) else And(GreaterThanOrEqual(of, least), LessThanOrEqual(of, greatest))

  /** The values as text. */
  def listed: String =
    if (few) values.toSeq.sorted(ordering).map(literal(_).sql).mkString("(", ", ", ")")
    else f"(${values.size}%,d values from ${least.sql} to ${greatest.sql})"
}

/** The condition that the tuple of some expressions is one of many tuples. */
case class TupleMembership(of: Seq[Expression], tuples: Set[InternalRow]) {
  /** A condition on each expression by itself, which follows. */
  def bounds: Expression = of.zipWithIndex.map[Expression] { case (one, at) =>
    val values = tuples.map(tuple => if (tuple.isNullAt(at)) null else InternalRow.copyValue(tuple.get(at, one.dataType))) - null
    if (values.isEmpty || !one.dataType.isInstanceOf[AtomicType]) Literal.TrueLiteral else Membership(one, values).bounds
  }.reduce(And(_, _))

  /** The tuples as text. */
  def listed: String = f"(${tuples.size}%,d ${if (tuples.size == 1) "tuple" else "tuples"})"
}

object TupleMembership {
  def unapply(e: Expression): Option[TupleMembership] = e match {
    case found: InSubqueryExec => found.values().flatMap(values => among(found.child, values.toSet))
    case InSet(child, values) => among(child, values)
    case _ => None
  }
  private def among(child: Expression, values: Set[Any]): Option[TupleMembership] = child match {
    case tuple: CreateNamedStruct => Some(TupleMembership(tuple.valExprs, values.collect { case row: InternalRow => row }))
    case _ => None
  }
}

object Membership {
  def unapply(e: Expression): Option[Membership] = e match {
    case found: InSubqueryExec if found.child.dataType.isInstanceOf[AtomicType] => found.values().map(values => withoutNulls(found.child, values.toSet))
    case InSet(child, values) if child.dataType.isInstanceOf[AtomicType] => Some(withoutNulls(child, values))
    case _ => None
  }
  private def withoutNulls(child: Expression, values: Set[Any]): Membership = Membership(child, values - null)
}
