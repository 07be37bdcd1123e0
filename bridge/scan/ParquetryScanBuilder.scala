package org.apache.spark.sql.parquetry.scan

import scala.collection.mutable

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Count => CountOf, Max => MaxOf, Min => MinOf}
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate => AggregateNode, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.expressions.{Expression, Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.aggregate._
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.parquetry.predicates.{EvaluatedDirectoryPredicates, EvaluatedPartitionPredicates}
import org.apache.spark.sql.parquetry.protocol.{AggregateAnswer, AuditMode, Json, MaybeAggregateAnswer, PlannerAnswer}
import org.apache.spark.sql.parquetry.table.{ForeseenPlan, ParquetryTable, PushedPredicate, TableRelation}
import org.apache.spark.sql.parquetry.versions.Pushdown.{OnPartitions, Repeated}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Collects a query's predicates, columns and aggregates for one table; the planner says which of them it can
 * use.
 */
class ParquetryScanBuilder(table: ParquetryTable, options: CaseInsensitiveStringMap)
  extends ScanBuilder with Repeated with SupportsPushDownRequiredColumns
  with SupportsPushDownAggregates {

  protected var pushed = Seq.empty[PushedPredicate]
  private var plan = Option.empty[ForeseenPlan]
  /** Whether the scan that follows opens all files, or None if a question of its own is to plan it. */
  private def foreseen: Option[Boolean] =
    Option.when(pushed.isEmpty && table.onDirectories.isEmpty)(ScanRequest.skipping(options).isDefined)
  protected var required: StructType = table.logical
  private var aggregate: Option[AggregateAnswer] = None

  private def ask(op: String, fields: JField*): PlannerAnswer =
    table.askOnce(op, Seq[JField]("predicates" -> JArray(pushed.map(_.tree).toList)) ++ fields: _*)

  /**
   * Returns the predicates that Spark has to evaluate on every row. Spark calls twice: the returned
   * predicates of partition columns alone come again, in a form that can be evaluated over the partitions'
   * values.
   */
  override def supportsIterativePushdown(): Boolean = true
  override def pushPredicates(offered: Array[Predicate]): Array[Predicate] = if (AuditMode.isReference) offered else {
    val again = offered.collect { case p: OnPartitions => p }
    val (ofHidden, ofRows) = offered.toSeq.partition(_.references().exists(table.isHidden(_)))
    val judged =
      if (again.nonEmpty) EvaluatedPartitionPredicates.evaluate(table, pushed.map(_.tree), again.toSeq)
      else {
        val found = table.judge(ofRows, options, foreseen)
        plan = plan.orElse(found.plan)
        found.predicates
      }
    pushed = (if (again.isEmpty) pushed else pushed.filterNot(_.again)) ++ judged
    (judged.filterNot(_.exact).map(_.predicate) ++ ofHidden).toArray
  }
  /** Leaves out predicates that Spark is to offer again: it offers none again that is pushed. */
  override def pushedPredicates(): Array[Predicate] = pushed.filterNot(_.again).map(_.predicate).toArray

  override def supportCompletePushDown(aggregation: Aggregation): Boolean = {
    if (aggregate.isEmpty && !AuditMode.isReference) aggregate = answered(aggregation)
    aggregate.isDefined
  }
  override def pushAggregation(aggregation: Aggregation): Boolean = supportCompletePushDown(aggregation)

  private def answered(aggregation: Aggregation): Option[AggregateAnswer] = {
    def column(e: Expression): Option[String] = e match {
      case r: NamedReference if r.fieldNames.length == 1 && !table.isHidden(r) => Some(r.fieldNames.head)
      case _ => None
    }
    def asked(function: String, e: Expression): Option[JValue] =
      column(e).map(c => JObject("function" -> JString(function), "column" -> JString(c)))
    val functions = aggregation.aggregateExpressions().map {
      case _: CountStar => Some(JObject("function" -> JString("count"), "column" -> JNull))
      case c: Count if !c.isDistinct => c.column() match {
        case l: Literal[_] if l.value != null => Some(JObject("function" -> JString("count"), "column" -> JNull))
        case e => asked("count", e)
      }
      case c: Count => asked("count_distinct", c.column())
      case m: Min => asked("min", m.column())
      case m: Max => asked("max", m.column())
      case _ => None
    }
    val groups = aggregation.groupByExpressions().map(column)
    if (functions.exists(_.isEmpty) || groups.exists(_.isEmpty) || !pushed.forall(_.exact)) return None
    calls = functions.flatten.toSeq
    groupedBy = groups.flatten.toSeq
    ask("aggregate", "functions" -> JArray(calls.toList), "group_by" -> Json.strings(groupedBy))
      .as[MaybeAggregateAnswer].aggregated
  }
  private var calls = Seq.empty[JValue]
  private var groupedBy = Seq.empty[String]

  /**
   * Reads a column with a default value whole: the readers know only the whole default, for files without the
   * column. Chars are strings in a scan, as Spark has them there.
   */
  override def pruneColumns(schema: StructType): Unit =
    required = CharVarcharUtils.replaceCharVarcharWithStringInSchema(StructType(schema.map(f =>
      table.logical.find(_.name == f.name).filter(_.getExistenceDefaultValue().isDefined).getOrElse(f))))

  override def build(): Scan = aggregate match {
    case Some(answer) => new MetadataScan(answer, pushed.map(_.tree), table, Some(AnsweredCalls(table.audited.orElse(Option.when(pushed.isEmpty)(Nil)), calls, groupedBy)))
    case None =>
      table.requireTypes(required)
      new ParquetryScan(
        table, EvaluatedDirectoryPredicates.evaluate(table, EvaluatedPartitionPredicates.evaluate(table, pushed)), required, options, plan)
  }
}

/**
 * Notes for each of our tables the columns that the query needs of it, as the last rule before conditions are
 * pushed down. So the plan of its scan comes with the planner's answer about its conditions. If the query
 * reads other columns in the end, its scan asks once more.
 *
 * The rule leaves out a table that occurs twice with other columns, and a table below an aggregate that the
 * metastore may answer without a scan.
 */
object ForeseeScans extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    val found = mutable.Map.empty[ParquetryTable, Option[Set[String]]]
    def note(table: ParquetryTable, columns: Option[Set[String]]): Unit =
      found(table) = if (found.get(table).forall(_ == columns)) columns else None
    def visit(plan: LogicalPlan): Unit = plan match {
      case PhysicalOperation(output, _, TableRelation(table: ParquetryTable)) => note(table, Some(output.flatMap(_.references).map(_.name).toSet))
      case aggregate: AggregateNode if isAnswerable(aggregate) => aggregate.child match {
        case PhysicalOperation(_, _, TableRelation(table: ParquetryTable)) => note(table, None)
        case other => visit(other)
      }
      case other => other.children.foreach(visit)
    }
    visit(plan)
    val estimated = ColumnEstimates.areUsed && plan.containsPattern(TreePattern.JOIN)
    found.foreach { case (table, columns) => table.expect(columns, estimated) }
    plan
  }

  private def isAnswerable(aggregate: AggregateNode): Boolean =
    aggregate.aggregateExpressions.flatMap(_.collect { case call: AggregateExpression => call.aggregateFunction }).forall {
      case _: CountOf | _: MinOf | _: MaxOf => true
      case _ => false
    }
}
