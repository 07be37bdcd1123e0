package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.expressions.{DynamicPruningSubquery, Expression, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Makes Spark's filters by the values of a subquery. */
object PruningSubquery {
  def apply(
      key: Expression, plan: LogicalPlan, keys: Seq[Expression], place: Int, onlyShared: Boolean, exprId: ExprId): DynamicPruningSubquery =
    DynamicPruningSubquery(key, plan, keys, Seq(place), onlyShared, exprId)

  /** The same filter by the values of several keys. */
  def withPlaces(found: DynamicPruningSubquery, places: Seq[Int]): DynamicPruningSubquery =
    found.copy(broadcastKeyIndices = places)

  /** A filter by scalar subqueries. */
  def between(condition: Expression): Expression = condition
}
