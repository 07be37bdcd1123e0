package org.apache.spark.sql.parquetry.predicates

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{And, Expression, KnownNullable, Not, Or}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, DeleteFromTable, Filter, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.V2ExpressionBuilder
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.metadata.MetadataTable
import org.apache.spark.sql.parquetry.table.ParquetryTable

/**
 * Marks conditions that Spark 4.3.0 fails to translate for a data source. Spark does not translate a marked
 * condition, but evaluates it itself. The rule runs right before Spark pushes down.
 *
 * An assertion fails for `a AND NULL`, which Spark's own optimizer makes of `tiny = 300`, and for AND, OR and
 * NOT over a CAST. Conditions that are so deep that their translation would overflow the stack are marked,
 * too.
 */
object GuardUntranslatablePredicates extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = if (!readsOurs(plan)) plan else plan.transform {
    case f @ Filter(condition, child) if readsOurs(child) => f.copy(condition = conjunctsGuarded(condition))
    case d @ DeleteFromTable(table, condition) if readsOurs(table) => d.copy(condition = conjunctsGuarded(condition))
    case a: Aggregate if readsOurs(a) => a.transformExpressionsUp(mark)
    case p: Project if readsOurs(p) => p.transformExpressionsUp(mark)
  }

  private def readsOurs(plan: LogicalPlan): Boolean = plan.collectLeaves().exists {
    case r: DataSourceV2Relation => r.table.isInstanceOf[ParquetryTable] || r.table.isInstanceOf[MetadataTable]
    case _ => false
  }

  /** Guards the operands of the topmost ANDs one by one, as Spark translates them. */
  def conjunctsGuarded(e: Expression): Expression = {
    val parts = chain(e, _.isInstanceOf[And])
    val guardedParts = parts.map { part =>
      val flat = balanced(part)
      if (part.isInstanceOf[KnownNullable]) part else if (isDeep(flat)) KnownNullable(part) else guarded(flat)
    }
    if (parts.corresponds(guardedParts)(_ eq _) && parts.length <= longChain) e else joined(guardedParts, And(_, _))
  }

  // A chain of hundreds of conditions is as deep as it is long, and so is the stack of each method that walks
  // through it.

  private val longChain = 50
  private val deep = 200

  /** Joins long chains of ANDs and of ORs in halves instead of one by one; the order stays. */
  private def balanced(e: Expression): Expression = e match {
    case _: And => rejoined(e, chain(e, _.isInstanceOf[And]), And(_, _))
    case _: Or => rejoined(e, chain(e, _.isInstanceOf[Or]), Or(_, _))
    case _ => e
  }

  private def rejoined(e: Expression, parts: IndexedSeq[Expression], join: (Expression, Expression) => Expression) = {
    val balancedParts = if (isDeep(e)) parts.map(balanced) else parts
    if (parts.length > longChain) joined(balancedParts, join)
    else if (parts.corresponds(balancedParts)(_ eq _)) e
    else joined(balancedParts, join)
  }

  private def chain(e: Expression, same: Expression => Boolean): IndexedSeq[Expression] = {
    val found = IndexedSeq.newBuilder[Expression]
    val waiting = mutable.Stack(e)
    while (waiting.nonEmpty) {
      val each = waiting.pop()
      if (same(each)) waiting.pushAll(each.children.reverse) else found += each
    }
    found.result()
  }

  private def joined(parts: IndexedSeq[Expression], join: (Expression, Expression) => Expression): Expression =
    BalancedChains.balanced(parts, join, parts.head)

  def isDeep(e: Expression): Boolean = {
    var level = Seq(e)
    var depth = 0
    while (level.nonEmpty && depth <= deep) {
      level = level.flatMap(_.children)
      depth += 1
    }
    depth > deep
  }

  private def guarded(e: Expression): Expression = if (fails(e)) e.transformUp(mark) else e

  private def mark: PartialFunction[Expression, Expression] = {
    case c @ (_: And | _: Or | _: Not) if fails(c) => KnownNullable(c)
  }

  private def fails(e: Expression): Boolean = Seq(true, false).exists { isPredicate =>
    try { new V2ExpressionBuilder(e, isPredicate).build(); false } catch { case _: AssertionError => true }
  }
}

/** Joins long chains of conditions as balanced trees. */
object BalancedChains {
  /** Joins conditions in halves; returns `none` for no conditions. */
  def balanced[T](parts: Seq[T], join: (T, T) => T, none: => T): T =
    parts.length match {
      case 0 => none
      case 1 => parts.head
      case n =>
        val (left, right) = parts.splitAt(n / 2)
        join(balanced(left, join, none), balanced(right, join, none))
    }

  /** Joins conditions by AND; returns None for no conditions. */
  def all(parts: Seq[Expression]): Option[Expression] =
    Option.when(parts.nonEmpty)(balanced[Expression](parts, And(_, _), parts.head))

  /** Joins conditions by OR; returns None for no conditions. */
  def any(parts: Seq[Expression]): Option[Expression] =
    Option.when(parts.nonEmpty)(balanced[Expression](parts, Or(_, _), parts.head))
}
