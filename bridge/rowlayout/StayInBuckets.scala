package org.apache.spark.sql.parquetry.rowlayout

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{
  Attribute, BoundReference, Coalesce, Expression, Literal, PlanExpression, Unevaluable, UserDefinedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.ShuffledJoin

/** A FULL join whose rows stay in the buckets that both sides are joined in. */
case class StayInBuckets(child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(child: LogicalPlan): StayInBuckets = copy(child = child)
}

/**
 * Tells Spark that the rows of such a join are in buckets by what USING makes of the keys of both sides:
 *
 * {{{
 * left key   right key   coalesce(left key, right key)   the row is in the bucket of
 * 5          5           5                               5
 * 5          NULL (pad)  5                               5
 * NULL       NULL (pad)  NULL                            NULL
 * NULL (pad) 7           7                               7
 * }}}
 *
 * The keys are evaluated over rows that the join has padded. So this holds only if a key is NULL in a row
 * that has NULL in all columns of its side: `k` and `upper(k)` are, and `coalesce(k, 0)`, `k IS NULL` and a
 * constant are not. Spark makes the latter of `a.k <=> b.k`. Such a join claims nothing.
 */
case class StayInBucketsExec(child: SparkPlan) extends RowsOfChild {
  override def outputPartitioning: Partitioning = child match {
    case join: ShuffledJoin => (join.left.outputPartitioning, join.right.outputPartitioning) match {
      case (left: BucketPartitioning, right: BucketPartitioning) if left.layout == right.layout =>
        val shared = left.forms(join.leftKeys).zip(right.forms(join.rightKeys)).map { case (one, other) =>
          one.find(form => other.contains(form) && form.collect { case key: BoundReference => key.ordinal }.forall(isNullWhenPadded(join, _)))
        }
        if (!shared.forall(_.isDefined)) child.outputPartitioning
        else new BucketPartitioning(left.layout, shared.flatten.map(_.transform { case key: BoundReference =>
          Coalesce(Seq(join.leftKeys(key.ordinal), join.rightKeys(key.ordinal)))
        }))
      case _ => child.outputPartitioning
    }
    case _ => child.outputPartitioning
  }

  private def isNullWhenPadded(join: ShuffledJoin, ordinal: Int): Boolean =
    StayInBuckets.isNullWhenPadded(join.leftKeys(ordinal)) && StayInBuckets.isNullWhenPadded(join.rightKeys(ordinal))

  override protected def withNewChildInternal(child: SparkPlan): StayInBucketsExec = copy(child = child)
}

object StayInBuckets {
  /**
   * Whether an expression is NULL in a row that has NULL in all columns. Spark evaluates conditions so, too,
   * before it makes an inner join of an outer one.
   */
  def isNullWhenPadded(key: Expression): Boolean =
    key.deterministic && !key.exists(isOpaque) &&
      Try(key.transform { case column: Attribute => Literal(null, column.dataType) }.eval()).toOption.contains(null)

  /** Whether an expression is a user's, or has its value only when the query runs. */
  private def isOpaque(e: Expression): Boolean = e match {
    case _: UserDefinedExpression | _: PlanExpression[_] => true
    case other => other.isInstanceOf[Unevaluable] && !other.isInstanceOf[Attribute]
  }
}
