package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.expressions.{DynamicPruningSubquery, Expression, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.connector.SupportsRuntimeCatalystFiltering

/**
 * A scan whose node gives it runtime filters as Spark's own expressions, once their values have arrived.
 *
 * All that the bridge needs of Spark's interface is here. An open change of Spark (SPARK-30628) replaces its
 * method `filter` by one that returns the partitions of the filtered scan. Both methods are here, and neither
 * says `override`, so that this file compiles before that change and after it. One scan has one node
 * (`SeparateScans`), so a scan that keeps its filters answers for no other node.
 */
trait RuntimeFilteredScan extends SupportsRuntimeCatalystFiltering {
  /** Leave out what cannot match filters; they have their values. */
  def narrowBy(filters: Array[Expression]): Unit

  def filter(filters: Array[Expression]): Unit = narrowBy(filters)

  def planInputPartitionsWithRuntimeFilters(filters: Array[Expression]): Array[InputPartition] = {
    narrowBy(filters)
    toBatch().planInputPartitions()
  }
}

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
