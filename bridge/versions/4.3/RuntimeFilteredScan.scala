package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.expressions.{DynamicPruningSubquery, Expression, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.connector.SupportsRuntimeCatalystFiltering

/** A scan whose node gives it runtime filters as Spark's own expressions, once their values have arrived. */
trait RuntimeFilteredScan extends SupportsRuntimeCatalystFiltering

object RuntimeFilteredScan {
  /** The node with another scan, which gets the node's filters. */
  def separate(node: BatchScanExec, scan: RuntimeFilteredScan): BatchScanExec = node.copy(scan = scan)
}

/** Makes Spark's filters by the values of a subquery. */
object PruningSubquery {
  def apply(
      key: Expression, plan: LogicalPlan, keys: Seq[Expression], place: Int, onlyShared: Boolean, exprId: ExprId): DynamicPruningSubquery =
    DynamicPruningSubquery(key, plan, keys, Seq(place), onlyShared, exprId)(None)

  /** The same filter by the values of several keys. */
  def withPlaces(found: DynamicPruningSubquery, places: Seq[Int]): DynamicPruningSubquery =
    found.copy(broadcastKeyIndices = places)(found.broadcastValueProjection)

  /** A filter by scalar subqueries. */
  def between(condition: Expression): Expression = condition
}
