package org.apache.spark.sql.parquetry.joingraph

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.parquetry.predicates.PartitionPredicates
import org.apache.spark.sql.parquetry.protocol.Bridge
import org.apache.spark.sql.parquetry.values.{BoxValue, CollectBoxes, InBoxes}
import org.apache.spark.sql.parquetry.versions.Sums
import org.apache.spark.sql.types.{DataType, DateType, TimestampNTZType, TimestampType}

/**
 * A value of one side of a join, as part of a condition on the other side: the minimum or maximum of an
 * expression, over the rows that are taken together.
 */
case class Extreme(of: Expression, least: Boolean) extends LeafExpression with Unevaluable {
  override def dataType: DataType = of.dataType
  override def nullable: Boolean = true
  override def sql: String = s"${if (least) "min" else "max"}(${LogicalNames.of(of)})"
}

/**
 * Derives a condition on one side of a join that all rows with a match satisfy. The join's condition
 * `f.day BETWEEN d.first AND d.last` gives `f.day >= min(d.first) AND f.day <= max(d.last)`.
 */
object JoinRanges {
  /** @return the condition, or None if any row might match, for any values of the other side */
  def of(condition: Expression, pruned: AttributeSet, build: AttributeSet): Option[Expression] = {
    // no row is tested by the condition, so on this side an expression may fail
    def on(e: Expression) = e.references.nonEmpty && e.references.subsetOf(pruned) && PartitionPredicates.evaluable(e)
    def known(e: Expression) = e.references.nonEmpty && e.references.subsetOf(build) && total(e, sums = true)
    def part(e: Expression): Option[Expression] = e match {
      case And(a, b) => (part(a) ++ part(b)).reduceOption(And(_, _))
      case Or(a, b) => for (x <- part(a); y <- part(b)) yield Or(x, y)
      case own if on(own) => Some(own)
      case comparison: BinaryComparison if !RowOrdering.isOrderable(comparison.left.dataType) => None
      case comparison: BinaryComparison if on(comparison.left) && known(comparison.right) =>
        bounded(comparison, comparison.left, comparison.right)
      case comparison: BinaryComparison if on(comparison.right) && known(comparison.left) =>
        mirrored(comparison).flatMap(bounded(_, comparison.right, comparison.left))
      case _ => None
    }
    part(condition).filter(_.exists(_.isInstanceOf[Extreme]))
  }

  /**
   * The filter of a scan by a condition as `of` returns it, with one subquery for all its values.
   *
   * @param exprId of the subquery
   */
  def filter(condition: Expression, build: LogicalPlan, exprId: ExprId): Expression = {
    val values = JoinRanges.extremes(condition).map(_.of).foldLeft(Seq.empty[Expression])((some, one) =>
      if (some.exists(_.semanticEquals(one))) some else some :+ one)
    val within = condition.transform { case end: Extreme =>
      BoxValue(values.indexWhere(_.semanticEquals(end.of)), end.dataType, end.least, LogicalNames.of(end.of))
    }
    val collect = CollectBoxes(values, Bridge.terms.limits.tuples).toAggregateExpression()
    val used = AttributeSet.fromAttributeSets(values.map(_.references))
    val rows = ScalarSubquery(Aggregate(Nil, Seq(Alias(collect, "boxes")()), PruneBuildColumns.of(build, used)), exprId = exprId)
    DynamicPruningExpression(InBoxes(within, rows))
  }

  def extremes(condition: Expression): Seq[Extreme] = condition.collect { case end: Extreme => end }

  /**
   * Whether an expression never fails, and has the same value each time, for any row. The build side's are
   * evaluated for more rows than the join's condition.
   *
   * @param sums whether to accept sums, although they may overflow
   */
  def total(e: Expression, sums: Boolean = false): Boolean = e.children.forall(total(_, sums)) && (e match {
    case _: Attribute | _: Alias | _: Literal | _: BinaryComparison | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: In | _: InSet |
        _: Year | _: Quarter | _: Month | _: DayOfMonth | _: DateAdd | _: DateSub | _: TruncDate => true
    case Cast(moment, DateType, _, _) if moment.dataType == TimestampType || moment.dataType == TimestampNTZType => true
    case cast: Cast => Cast.canUpCast(cast.child.dataType, cast.dataType)
    case other => sums && Sums.is(other)
  })

  private def bounded(comparison: Expression, value: Expression, other: Expression): Option[Expression] = {
    // a sum that overflows would fail in the join, too, if the join evaluates it; so here it becomes NULL,
    // and matches nothing
    val tried = Sums.tried(other)
    def least = Extreme(tried, least = true)
    def greatest = Extreme(tried, least = false)
    def between = And(GreaterThanOrEqual(value, least), LessThanOrEqual(value, greatest))
    comparison match {
      case _: EqualTo => Some(between)
      case _: EqualNullSafe => Some(Or(between, IsNull(value)))
      case _: LessThan => Some(LessThan(value, greatest))
      case _: LessThanOrEqual => Some(LessThanOrEqual(value, greatest))
      case _: GreaterThan => Some(GreaterThan(value, least))
      case _: GreaterThanOrEqual => Some(GreaterThanOrEqual(value, least))
      case _ => None
    }
  }

  private def mirrored(comparison: BinaryComparison): Option[Expression] = {
    val (left, right) = (comparison.left, comparison.right)
    comparison match {
      case _: EqualTo => Some(EqualTo(right, left))
      case _: EqualNullSafe => Some(EqualNullSafe(right, left))
      case _: LessThan => Some(GreaterThan(right, left))
      case _: LessThanOrEqual => Some(GreaterThanOrEqual(right, left))
      case _: GreaterThan => Some(LessThan(right, left))
      case _: GreaterThanOrEqual => Some(LessThanOrEqual(right, left))
      case _ => None
    }
  }
}
