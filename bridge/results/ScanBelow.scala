package org.apache.spark.sql.parquetry.results

import scala.util.Try

import org.json4s._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{BaseEvalPython, Filter, LogicalPlan, Project, Subquery, Union}
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, DataSourceV2Strategy}
import org.apache.spark.sql.parquetry.predicates.EvaluatedPartitionPredicates
import org.apache.spark.sql.parquetry.protocol.Json
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * One of our scans below a node that needs only some of its rows, or only a summary of them.
 *
 * @param conditions the conditions between the node and the scan, as conditions on the scan's columns
 * @param expressions expressions of the node's child, as expressions of the scan's columns
 */
case class ScanBelow(
    relation: DataSourceV2ScanRelation, scan: ParquetryScan, conditions: Seq[Expression], expressions: Seq[Expression]) {
  /** The scan for a query that needs only some of its rows; see `ParquetryScan.withNeeded`. */
  def reading(needed: JObject): DataSourceV2ScanRelation = ScanRelation.narrowed(relation, scan.withNeeded(needed), relation.output)

  /** The facts that keep the query from needing fewer files (`Hindrance` in `prune/needed_rows.py`). */
  def hindrance: JObject = JObject(
    "unknown" -> Json.strings(conditions.filterNot(planned.contains).map(text)),
    "skipping" -> scan.skipping.fold[JValue](JNull)(JString(_)))

  /** The conditions that the scan was planned with. Others have values of joins, or no form for sources. */
  private lazy val planned: Set[Expression] = {
    val trees = scan.predicates.map(Json.ofExpression).toSet
    conditions.filter(condition =>
      Try(DataSourceV2Strategy.translateFilterV2(condition)).toOption.flatten.exists(found => trees(Json.ofExpression(found)))).toSet
  }

  private def text(condition: Expression): String =
    if (condition.containsAnyPattern(TreePattern.DYNAMIC_PRUNING_SUBQUERY, TreePattern.PLAN_EXPRESSION)) "a condition by values of a subquery"
    else EvaluatedPartitionPredicates.text(condition)
}

object ScanBelow extends PredicateHelper {
  /**
   * Whether a plan is only a part of a query's plan, or has streams. Spark optimizes subqueries first, and
   * may merge their scans later. It cannot merge scans that leave files out. So subqueries are changed
   * together with their query, and with the copies of its parts that runtime filters have.
   */
  def waits(plan: LogicalPlan): Boolean = plan.isStreaming || plan.isInstanceOf[Subquery]

  /**
   * Replaces our scans below a node by nodes with the same columns. Between the node and the scan are only
   * nodes that give a row for each row, conditions, and UNION ALL.
   *
   * @param expressions of the plan's columns
   */
  def replaced(plan: LogicalPlan, expressions: Seq[Expression], conditions: Seq[Expression] = Nil)(
      change: ScanBelow => LogicalPlan): LogicalPlan = plan match {
    case relation @ ScanRelation(_, scan: ParquetryScan, _, _, _) =>
      change(ScanBelow(relation, scan, conditions, expressions))
    case project: Project =>
      val aliases = getAliasMap(project)
      def below(some: Seq[Expression]) = some.map(replaceAlias(_, aliases))
      project.withNewChildren(Seq(replaced(project.child, below(expressions), below(conditions))(change)))
    case filter: Filter =>
      val all = conditions ++ splitConjunctivePredicates(filter.condition)
      filter.withNewChildren(Seq(replaced(filter.child, expressions, all)(change)))
    case eval: BaseEvalPython =>
      eval.withNewChildren(Seq(replaced(eval.child, expressions, conditions)(change)))
    case union: Union => union.withNewChildren(union.children.map { child =>
      val columns = AttributeMap(union.output.zip(child.output))
      def below(some: Seq[Expression]) = some.map(_.transform { case a: Attribute => columns.getOrElse(a, a) })
      replaced(child, below(expressions), below(conditions))(change)
    })
    case other => other
  }

  /** The name of the column that an expression is, or None if it is none of the table's. */
  def column(expression: Expression, scan: ParquetryScan): Option[String] = expression match {
    case a: AttributeReference if scan.table.logical.fieldNames.contains(a.name) && !scan.hiddenColumns(a.name) => Some(a.name)
    case _ => None
  }
}
