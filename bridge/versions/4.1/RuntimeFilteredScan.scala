package org.apache.spark.sql.parquetry.versions

import scala.util.Try

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Attribute, DynamicPruningExpression, DynamicPruningSubquery, Expression, ExprId, Literal, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering
import org.apache.spark.sql.execution.{
  BaseSubqueryExec, InSubqueryExec, LocalTableScanExec, ReusedSubqueryExec, ScalarSubquery, SparkPlan, SQLExecution, UnaryExecNode, UnavailableValues}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/**
 * A scan whose node gives it runtime filters as Spark's own expressions, once their values have arrived.
 *
 * Spark 4.1 gives a scan predicates instead, and only of plain columns. So the scan knows its node's
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
    case DynamicPruningExpression(range) => Some(range.transform { case value: ScalarSubquery => value.toLiteral })
    case _ => None
  }.toArray)
}

object RuntimeFilteredScan {
  /**
   * The node with another scan, which gets the node's filters. There is one more filter, without values:
   * Spark calls the scan only if it can translate a filter, and it can translate this one.
   */
  def separate(node: BatchScanExec, scan: RuntimeFilteredScan): BatchScanExec = {
    scan.filterBy(node.runtimeFilters)
    val filters = node.runtimeFilters.flatMap(_.references).headOption.map { column =>
      DynamicPruningExpression(InSubqueryExec(column, NoValues(LocalTableScanExec(Seq(column.asInstanceOf[Attribute]), Nil, None)), NamedExpression.newExprId, isDynamicPruning = true))
    }
    node.copy(scan = scan, runtimeFilters = node.runtimeFilters ++ filters)
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
      case node: BatchScanExec if node.scan eq scan => node.runtimeFilters.filterNot(signals)
    }).find(complete).getOrElse(Nil)
  }

  private def signals(filter: Expression): Boolean = filter match {
    case DynamicPruningExpression(in: InSubqueryExec) => in.plan match {
      case ReusedSubqueryExec(_: NoValues) | _: NoValues => true
      case _ => false
    }
    case _ => false
  }

  private def running: Option[SparkPlan] = for {
    session <- SparkSession.getActiveSession
    id <- Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
    query <- Option(SQLExecution.getQueryExecution(id.toLong))
  } yield query.executedPlan
}

/** A subquery without rows. */
case class NoValues(child: SparkPlan) extends BaseSubqueryExec with UnaryExecNode {
  override def name: String = "no values"
  override def executeCollect(): Array[InternalRow] = Array.empty
  override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException("a subquery's rows are collected")
  override protected def withNewChildInternal(newChild: SparkPlan): NoValues = copy(child = newChild)
}

/** Makes Spark's filters by the values of a subquery. */
object PruningSubquery {
  def apply(
      key: Expression, plan: LogicalPlan, keys: Seq[Expression], place: Int, onlyShared: Boolean, exprId: ExprId): DynamicPruningSubquery =
    DynamicPruningSubquery(key, plan, keys, Seq(place), onlyShared, exprId)

  /** The same filter by the values of several keys. */
  def withPlaces(found: DynamicPruningSubquery, places: Seq[Int]): DynamicPruningSubquery =
    found.copy(broadcastKeyIndices = places)

  /** A filter by scalar subqueries; Spark 4.1 takes only dynamic pruning for runtime filters. */
  def between(condition: Expression): Expression = DynamicPruningExpression(condition)
}
