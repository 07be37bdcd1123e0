package org.apache.spark.sql.parquetry.results

import scala.util.Try

import org.json4s._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Cross, ExistenceJoin, Inner, JoinType, LeftAnti, LeftOuter, LeftSemi, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical.{BaseEvalPython, Filter, Generate, Join, LogicalPlan, Project, Subquery, Union}
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, DataSourceV2Strategy}
import org.apache.spark.sql.parquetry.joingraph.LogicalNames
import org.apache.spark.sql.parquetry.predicates.{EvaluatedPartitionPredicates, ExpressionTrees, FieldPath}
import org.apache.spark.sql.parquetry.protocol.{AggregateAnswer, CharPadding, Json}
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * One of our scans below a node that needs only some of its rows, or only a summary of them.
 *
 * @param conditions the conditions between the node and the scan, as conditions on the scan's columns
 * @param expressions expressions of the node's child, as expressions of the scan's columns
 * @param repeats whether a row of the scan may become several rows, by a join or a generator
 * @param drops the joins between that may drop rows of the scan
 */
case class ScanBelow(
    relation: DataSourceV2ScanRelation, scan: ParquetryScan, conditions: Seq[Expression], expressions: Seq[Expression],
    repeats: Boolean, drops: Seq[JoinType]) {
  /** The scan for a query that needs only some of its rows; see `ParquetryScan.withNeeded`. */
  def reading(
      needed: JObject, order: Option[SortOrder] = None, answered: Option[(AggregateAnswer, Seq[JValue])] = None): DataSourceV2ScanRelation =
    ScanRelation.narrowed(relation, scan.withNeeded(needed, order, answered), relation.output)

  /** Whether the scan can be changed: a join above it may need the buckets that it reports. */
  def isChangeable: Boolean = scan.needed.isEmpty && (scan.buckets.isEmpty || !repeats)

  /** The facts that keep the query from needing fewer files (`Hindrance` in `prune/needed_rows.py`). */
  def hindrance: JObject = JObject(
    "unknown" -> Json.strings(drops.map(join => s"the ${LogicalNames.of(join)} JOIN") ++ conditions.filterNot(planned.contains).map(text)),
    "skipping" -> scan.skipping.fold[JValue](JNull)(JString(_)))

  /** A sort key (`SortKey` in `prune/needed_rows.py`). */
  def key(expression: Expression, descending: Boolean, nullsFirst: Boolean): JObject = {
    val (bare, padded) = expression match {
      case CharPadding(column) => (column, true)
      case other => (other, false)
    }
    val name = column(bare)
    val isReadable = bare.references.nonEmpty && bare.references.forall(column(_).isDefined)
    JObject(
      "column" -> name.fold[JValue](JNull)(JString(_)),
      "text" -> JString(EvaluatedPartitionPredicates.text(bare)),
      "descending" -> JBool(descending), "nulls_first" -> JBool(nullsFirst), "padded" -> JBool(padded),
      "tree" -> (if (name.isEmpty && isReadable) ExpressionTrees.of(EvaluatedPartitionPredicates.unmarked(bare)) else JNull))
  }

  /** The planner's name of a column or field, or None if an expression is none of the table's. */
  def column(expression: Expression): Option[String] = FieldPath.column(expression).filter(a =>
    relation.outputSet.contains(a) && scan.table.logical.fieldNames.contains(a.name) && !scan.hiddenColumns(a.name))
    .flatMap(_ => FieldPath.name(expression))

  /** The conditions that the scan was planned with. Others have values of joins, or no form for sources. */
  private lazy val planned: Set[Expression] = {
    val trees = scan.predicates.map(Json.ofExpression).toSet
    // a column of another input of a join may have the same name
    conditions.filter(condition => condition.references.subsetOf(relation.outputSet) &&
      Try(DataSourceV2Strategy.translateFilterV2(condition)).toOption.flatten.exists(found => trees(Json.ofExpression(found)))).toSet
  }

  private def text(condition: Expression): String =
    if (condition.containsAnyPattern(TreePattern.DYNAMIC_PRUNING_SUBQUERY, TreePattern.PLAN_EXPRESSION)) "a condition by values of a subquery"
    else EvaluatedPartitionPredicates.text(condition)
}

object ScanBelow extends PredicateHelper {
  /**
   * Whether a plan is only a part of a query's plan. Spark optimizes subqueries first, and may merge their
   * scans later. It cannot merge scans that leave files out. So subqueries are changed together with their
   * query, and with the copies of its parts that runtime filters have.
   */
  def waits(plan: LogicalPlan): Boolean = plan.isInstanceOf[Subquery]

  /**
   * Replaces our scans below a node by nodes with the same columns. Between the node and the scan are only
   * nodes that give one row or more for each row, conditions, joins that drop rows, and UNION ALL.
   *
   * A join is passed on the side of the expressions. An outer join keeps every row of one side, and a row may
   * come several times. So the first rows of the result come from the first rows of this side. A FULL OUTER
   * JOIN is not passed: a row that is left out on one side adds one of the other side.
   */
  def replaced(plan: LogicalPlan, expressions: Seq[Expression])(change: ScanBelow => LogicalPlan): LogicalPlan =
    below(plan, expressions, Nil, repeats = false, Nil)(change)

  private def below(plan: LogicalPlan, expressions: Seq[Expression], conditions: Seq[Expression], repeats: Boolean, drops: Seq[JoinType])(
      change: ScanBelow => LogicalPlan): LogicalPlan = plan match {
    case relation @ ScanRelation(_, scan: ParquetryScan, _, _, _) =>
      change(ScanBelow(relation, scan, conditions, expressions, repeats, drops))
    case project: Project =>
      val aliases = getAliasMap(project)
      def through(some: Seq[Expression]) = some.map(replaceAlias(_, aliases))
      project.withNewChildren(Seq(below(project.child, through(expressions), through(conditions), repeats, drops)(change)))
    case filter: Filter =>
      val all = conditions ++ splitConjunctivePredicates(filter.condition)
      filter.withNewChildren(Seq(below(filter.child, expressions, all, repeats, drops)(change)))
    case eval: BaseEvalPython =>
      eval.withNewChildren(Seq(below(eval.child, expressions, conditions, repeats, drops)(change)))
    case generate: Generate if generate.outer =>
      generate.withNewChildren(Seq(below(generate.child, expressions, conditions, repeats = true, drops)(change)))
    case union: Union => union.withNewChildren(union.children.map { child =>
      val columns = AttributeMap(union.output.zip(child.output))
      def through(some: Seq[Expression]) = some.map(_.transform { case a: Attribute => columns.getOrElse(a, a) })
      below(child, through(expressions), through(conditions), repeats, drops)(change)
    })
    case join: Join =>
      def on(side: LogicalPlan, more: Seq[JoinType]) = below(side, expressions, conditions, repeats = true, drops ++ more)(change)
      side(join, expressions) match {
        case Some((true, more)) => join.withNewChildren(Seq(on(join.left, more), join.right))
        case Some((false, more)) => join.withNewChildren(Seq(join.left, on(join.right, more)))
        case None => join
      }
    case other => other
  }

  /**
   * Whether expressions are of a join's left side, and the join if it may drop rows of that side. A side
   * whose values filter the other side while the query runs stays as it is: Spark takes them from the join's
   * broadcast, which has to be the same plan.
   */
  private def side(join: Join, expressions: Seq[Expression]): Option[(Boolean, Seq[JoinType])] = {
    def areOf(side: LogicalPlan) = expressions.nonEmpty && expressions.forall(_.references.subsetOf(side.outputSet)) &&
      !(if (side eq join.left) join.right else join.left).containsAnyPattern(TreePattern.DYNAMIC_PRUNING_SUBQUERY, TreePattern.PLAN_EXPRESSION)
    join.joinType match {
      case LeftOuter | ExistenceJoin(_) if areOf(join.left) => Some((true, Nil))
      case RightOuter if areOf(join.right) => Some((false, Nil))
      case LeftSemi | LeftAnti if areOf(join.left) => Some((true, Seq(join.joinType)))
      case Inner | Cross if areOf(join.left) => Some((true, Seq(join.joinType)))
      case Inner | Cross if areOf(join.right) => Some((false, Seq(join.joinType)))
      case _ => None
    }
  }}
