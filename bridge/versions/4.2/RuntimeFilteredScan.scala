package org.apache.spark.sql.parquetry.versions

import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{DynamicPruningExpression, DynamicPruningSubquery, Expression, ExprId, Literal}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering
import org.apache.spark.sql.execution.{InSubqueryExec, ScalarSubquery, SparkPlan, SQLExecution, UnavailableValues}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/**
 * A scan whose node gives it runtime filters as Spark's own expressions, once their values have arrived.
 *
 * Spark 4.2 gives a scan predicates instead, and only of plain columns. So the scan knows its node's
 * filters, and takes Spark's call as the sign that the values have arrived.
 */
trait RuntimeFilteredScan extends SupportsRuntimeV2Filtering {
  def filterAttributes(): Array[NamedReference]
  /** Leave out what cannot match filters; they have their values. */
  def narrowBy(filters: Array[Expression]): Unit

  @transient @volatile private var ofNode = Seq.empty[Expression]
  private[versions] def filterBy(filters: Seq[Expression]): Unit = ofNode = filters
  override def filter(translated: Array[Predicate]): Unit = narrowBy(RuntimeFilteredScan.arrived(this, ofNode).flatMap {
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

  /**
   * A node's filters with their values. Without adaptive execution, Spark copies a node once more to reuse
   * subqueries: then the values are in the filters of the node that runs.
   */
  private def arrived(scan: RuntimeFilteredScan, filters: Seq[Expression]): Seq[Expression] = {
    def complete(filters: Seq[Expression]) = !filters.exists(_.exists {
      case in: InSubqueryExec => in.values().isEmpty
      case value: ScalarSubquery => Try(value.toLiteral).isFailure
      case _ => false
    })
    if (complete(filters)) filters
    else running.toSeq.flatMap(_.collectWithSubqueries {
      case node: BatchScanExec if node.scan eq scan => node.runtimeFilters.filterNot(_ == Literal.TrueLiteral)
    }).find(complete).getOrElse(Nil)
  }

  private def running: Option[SparkPlan] = for {
    session <- SparkSession.getActiveSession
    id <- Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
    query <- Option(SQLExecution.getQueryExecution(id.toLong))
  } yield query.executedPlan
}

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
