package org.apache.spark.sql.parquetry.joingraph

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.parquetry.predicates.BalancedChains
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.table.{ParquetryTable, TableRelation}
import org.apache.spark.sql.parquetry.versions.ScanRelation
import org.apache.spark.sql.types.{ArrayType, DataType, StructType}

/**
 * Splits an equality of structs into equalities of their fields, so that joins give values of each field:
 *
 *     (f.k, f.day) = (d.id, d.day)        f.k <=> d.id AND f.day <=> d.day
 *
 * Both mean the same: a struct that is made of columns is never NULL, and NULLs within structs are equal.
 *
 * An equality of other structs and arrays stays whole. If the types of its sides differ in names or in what
 * may be NULL, it becomes `a <=> b AND a IS NOT NULL AND b IS NOT NULL`. Spark compares such sides, but makes
 * no valid dynamic filter of them: it wants equal types, and raises an error. Of `<=>` it makes none.
 */
object SplitStructEqualities extends Rule[LogicalPlan] with PredicateHelper {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.containsAnyPattern(TreePattern.BINARY_COMPARISON, TreePattern.IN_SUBQUERY) || !plan.exists(mentions)) plan
    else {
      lazy val applies = readsOurs(plan)
      plan.transform { case node if node.expressions.exists(concerned) && applies => changed(node) }
    }

  private def mentions(node: LogicalPlan): Boolean = node.expressions.exists(concerned)

  private def concerned(e: Expression): Boolean = e.exists {
    case e @ Equality(left, _) => nested(left.dataType) && (splitOf(e).isDefined || differs(e))
    case in: InSubquery => existsOf(in).isDefined
    case _ => false
  }

  private def changed(node: LogicalPlan): LogicalPlan = {
    val split = node.transformExpressions { case e @ Equality(_, _) => splitOf(e).getOrElse(e) }
    split match {
      case filter: Filter => filter.copy(condition = nullSafe(filter.condition))
      case join: Join => join.copy(condition = join.condition.map(nullSafe))
      case other => other
    }
  }

  /** The equalities of the fields of two structs that are made of columns, or None for anything else. */
  private def splitOf(e: Expression): Option[Expression] = for {
    (a, b) <- Some(e).collect { case Equality(a, b) if a.references.nonEmpty && b.references.nonEmpty => (a, b) }
    left <- fields(a)
    right <- fields(b) if left.nonEmpty && left.length == right.length
  } yield left.zip(right).map { case (a, b) =>
    val equal = if (a.nullable || b.nullable) EqualNullSafe(a, b) else EqualTo(a, b)
    splitOf(equal).getOrElse(equal)
  }.reduce[Expression](And(_, _))

  private def fields(e: Expression): Option[Seq[Expression]] = e match {
    case struct: CreateNamedStruct => Some(struct.valExprs)
    case Cast(struct, StructType(types), zone, mode) =>
      fields(struct).filter(_.length == types.length).map(_.zip(types).map { case (field, to) =>
        if (field.dataType == to.dataType) field else Cast(field, to.dataType, zone, mode)
      })
    case _ => None
  }

  /** A condition whose rows remain the same, though it may be FALSE in place of NULL. */
  private def nullSafe(condition: Expression): Expression = {
    val parts = splitConjunctivePredicates(condition)
    if (!parts.exists(part => part.exists(concerned))) condition
    else BalancedChains.all(parts.map(conjunct)).get
  }

  private def conjunct(e: Expression): Expression = e match {
    case equal: EqualTo if differs(equal) => equalAndThere(equal.left, equal.right).reduce[Expression](And(_, _))
    case in: InSubquery => existsOf(in).getOrElse(in)
    case exists: Exists => exists.withJoinConditions(exists.joinCond.map(nullSafe))
    case _ => e
  }

  private def equalAndThere(left: Expression, right: Expression): Seq[Expression] =
    EqualNullSafe(left, right) +: Seq(left, right).filter(_.nullable).map(IsNotNull(_))

  private def differs(e: Expression): Boolean = e match {
    case EqualTo(left, right) => differ(left, right)
    case _ => false
  }

  private def differ(left: Expression, right: Expression): Boolean =
    nested(left.dataType) && left.dataType != right.dataType && left.references.nonEmpty && right.references.nonEmpty

  private def nested(of: DataType): Boolean = of.isInstanceOf[StructType] || of.isInstanceOf[ArrayType]

  /** `x IN (SELECT y …)` as EXISTS with a condition on x and y, if their types differ. */
  private def existsOf(in: InSubquery): Option[Exists] = in.values match {
    case Seq(value) => in.query.plan.output.headOption.filter(differ(value, _)).map(column => Exists(
      plan = in.query.plan, outerAttrs = in.query.outerAttrs ++ value.references,
      joinCond = in.query.joinCond ++ equalAndThere(value, column), hint = in.query.hint))
    case _ => None
  }

  private implicit class JoinConditions(exists: Exists) {
    def withJoinConditions(conditions: Seq[Expression]): Exists =
      exists.withNewChildren(exists.outerAttrs ++ conditions).asInstanceOf[Exists]
  }

  private def readsOurs(plan: LogicalPlan): Boolean = plan.collectWithSubqueries {
    case relation @ TableRelation(_: ParquetryTable) => relation
    case relation @ ScanRelation(_, _: ParquetryScan, _, _, _) => relation
  }.nonEmpty
}
