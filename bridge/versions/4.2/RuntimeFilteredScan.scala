package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.expressions.{DynamicPruningExpression, Expression, Literal}
import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering
import org.apache.spark.sql.execution.{InSubqueryExec, ScalarSubquery, UnavailableValues}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/**
 * A scan whose node gives it runtime filters as Spark's own expressions, once their values have arrived.
 *
 * Spark 4.2 gives a scan predicates instead, and only those of plain columns. So the scan knows its node's
 * filters, and takes Spark's call as the sign that the values have arrived.
 */
trait RuntimeFilteredScan extends SupportsRuntimeV2Filtering {
  def filterAttributes(): Array[NamedReference]
  def filter(filters: Array[Expression]): Unit

  @transient @volatile private var filters = Seq.empty[Expression]
  private[versions] def filterBy(ofNode: Seq[Expression]): Unit = filters = ofNode
  override def filter(translated: Array[Predicate]): Unit = filter(filters.flatMap {
    case DynamicPruningExpression(in: InSubqueryExec) => Option.unless(UnavailableValues.areIn(in))(in)
    case DynamicPruningExpression(Literal.TrueLiteral) => None
    case other => Some(other.transform { case value: ScalarSubquery => value.toLiteral })
  }.toArray)
}

object RuntimeFilteredScan {
  /**
   * The node with another scan, which gets the node's filters. TRUE is one more filter: Spark calls the scan
   * only if it can translate a filter, and it can translate this one.
   */
  def separate(node: BatchScanExec, scan: RuntimeFilteredScan): BatchScanExec = {
    scan.filterBy(node.runtimeFilters)
    node.copy(scan = scan, runtimeFilters = node.runtimeFilters :+ Literal.TrueLiteral)
  }
}
