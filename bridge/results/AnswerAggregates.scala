package org.apache.spark.sql.parquetry.results

import org.json4s._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation, LogicalPlan, Project, Union}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.{TreeNodeTag, TreePattern}
import org.apache.spark.sql.parquetry.predicates.EvaluatedPartitionPredicates
import org.apache.spark.sql.parquetry.protocol.{AggregateAnswer, MaybeAggregateAnswer}
import org.apache.spark.sql.parquetry.scan.{AnsweredCalls, MetadataScan}
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * Answers `count`, `min` and `max` of all rows that satisfy conditions from the metastore, as far as it has
 * them exactly. It has them for the files whose rows all satisfy the conditions. Only other files are read:
 *
 * {{{
 * Aggregate [max(v)]                 Aggregate [max(max_v)]
 *   Filter (x > 3)            ⇒        Union
 *     scan of 100 files                  LocalRelation [max_v]: the value in 97 files
 *                                        Aggregate [max(v) AS max_v]
 *                                          Filter (x > 3)
 *                                            scan of 3 files
 * }}}
 *
 * If the metastore has the whole result, no file is read. Spark itself offers a source only aggregates
 * without conditions above the scan.
 */
object AnswerAggregates extends Rule[LogicalPlan] {
  /** Marks an aggregate that the planner was asked about. */
  private val asked = TreeNodeTag[Unit]("parquetry.results")

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (ScanBelow.waits(plan) || !plan.containsPattern(TreePattern.AGGREGATE)) plan
    else plan.transformWithSubqueries {
      case aggregate: Aggregate if aggregate.groupingExpressions.isEmpty && aggregate.getTagValue(asked).isEmpty =>
        aggregate.setTagValue(asked, ())
        answered(aggregate).getOrElse(aggregate)
    }

  private def answered(aggregate: Aggregate): Option[LogicalPlan] = for {
    functions <- functionsOf(aggregate)
    below <- scanOf(aggregate, functions)
  } yield {
    val calls = Option.unless(below.repeats)(
      all(functions.indices.map(i => call(functions(i).aggregateFunction, below.expressions(i), below)))).flatten
    val sent = calls.map(some => List[JField]("functions" -> JArray(some.toList), "hindrance" -> below.hindrance))
    val answer = sent.flatMap(fields => below.scan.table.askOnce("aggregate", Seq[JField](
      "predicates" -> JArray(below.scan.planTimeConditions.toList), "group_by" -> JArray(Nil), "partly" -> JBool(true)) ++ fields: _*)
      .as[MaybeAggregateAnswer].aggregated)
    val first = extreme(functions, below).map("first" -> _: JField).toList
    val order = Extremes.order(functions.map(_.aggregateFunction)).filter(_ => first.nonEmpty)
    def read(fields: List[JField], claimed: Option[(AggregateAnswer, Seq[JValue])] = None): LogicalPlan =
      ScanBelow.replaced(aggregate.child, functions.flatMap(e => argument(e.aggregateFunction))) { found =>
        found.reading(JObject(fields), order.map(_.copy(child = found.expressions.head, sameOrderExpressions = Nil)), claimed)
      }
    answer match {
      case Some(found) if found.files == 0 => whole(aggregate, functions, below, found, calls.get)
      case Some(found) => partly(aggregate, functions, found,
        read(first :+ ("answered" -> JObject(sent.get): JField), Some(found -> calls.get)))
      case None =>
        // the report says why the metastore has no part of the answer
        val explained = sent.filterNot(_ => below.scan.awaitsValues || below.scan.buckets.nonEmpty)
          .map(fields => "answered" -> JObject(fields :+ ("explained" -> JBool(true): JField)): JField).toList
        if (first.isEmpty && explained.isEmpty) aggregate
        else {
          val ordered = aggregate.copy(child = read(first ++ explained))
          ordered.setTagValue(asked, ())
          ordered
        }
    }
  }

  /**
   * Minimums or maximums of one expression, also as `max_by`, as the first row of an order (`FirstRows` in
   * `prune/needed_rows.py`), or None if functions are of others.
   */
  private def extreme(functions: Seq[AggregateExpression], below: ScanBelow): Option[JObject] =
    Extremes.order(functions.map(_.aggregateFunction)).map(order => JObject(
      "count" -> JInt(1),
      "key" -> below.key(below.expressions.head, order.direction == Descending, nullsFirst = false),
      "hindrance" -> below.hindrance,
      "written" -> JString(functions.map(EvaluatedPartitionPredicates.text).mkString(", "))))

  /** The functions of an aggregate, or None if some are neither `count` nor extremes of all rows. */
  private def functionsOf(aggregate: Aggregate): Option[Seq[AggregateExpression]] = {
    val found = aggregate.aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e }).distinctBy(_.canonicalized)
    Option.when(found.nonEmpty && found.forall(e => !e.isDistinct && e.filter.isEmpty && e.mode == Complete &&
      argument(e.aggregateFunction).isDefined))(found)
  }

  private def argument(function: AggregateFunction): Option[Expression] = function match {
    case Count(Seq(one)) => Some(one)
    case other => Extremes.order(Seq(other)).map(_.child)
  }

  private def scanOf(aggregate: Aggregate, functions: Seq[AggregateExpression]): Option[ScanBelow] = {
    var found = Seq.empty[ScanBelow]
    ScanBelow.replaced(aggregate.child, functions.flatMap(e => argument(e.aggregateFunction))) { below =>
      found :+= below
      below.relation
    }
    found.headOption.filter(below => found.length == 1 && below.isChangeable && !aggregate.child.exists(_.isInstanceOf[Union]))
  }

  private def call(function: AggregateFunction, of: Expression, below: ScanBelow): Option[JValue] = {
    def field(name: String, column: Option[String]) =
      JObject("function" -> JString(name), "column" -> column.fold[JValue](JNull)(JString(_)))
    def ofColumn(name: String) = below.column(of).map(column => field(name, Some(column)))
    (function, of) match {
      case (_: Count, Literal(value, _)) => Option.when(value != null)(field("count", None))
      case (_: Count, _) => ofColumn("count")
      case (_: Min, _) => ofColumn("min")
      case (_: Max, _) => ofColumn("max")
      case _ => None
    }
  }

  private def all[A](some: Seq[Option[A]]): Option[Seq[A]] = if (some.forall(_.isDefined)) Some(some.flatten) else None

  /** The aggregate's result from the metastore's values alone. */
  private def whole(
      aggregate: Aggregate, functions: Seq[AggregateExpression], below: ScanBelow, answer: AggregateAnswer, calls: Seq[JValue]): LogicalPlan = {
    val columns = columnsOf(functions, answer)
    val relation = ScanRelation.narrowed(below.relation, new MetadataScan(
      answer, below.scan.asked, below.scan.table, Some(AnsweredCalls(below.scan.conditionsAsEvaluated, calls))), columns)
    Project(replaced(aggregate, functions, columns)((_, column) => column), relation)
  }

  /** The aggregate over the metastore's values and the values of the files that are left. */
  private def partly(
      aggregate: Aggregate, functions: Seq[AggregateExpression], answer: AggregateAnswer, child: LogicalPlan): LogicalPlan = {
    val read = aggregate.copy(
      aggregateExpressions = functions.zipWithIndex.map { case (e, i) => Alias(e, answer.schema(i).name)() }, child = child)
    read.setTagValue(asked, ())
    val union = Union(Seq(LocalRelation(columnsOf(functions, answer), answer.sparkRows.toSeq), read))
    val result = aggregate.copy(
      aggregateExpressions = replaced(aggregate, functions, union.output)(combined), child = union)
    result.setTagValue(asked, ())
    result
  }

  private def columnsOf(functions: Seq[AggregateExpression], answer: AggregateAnswer): Seq[AttributeReference] =
    functions.zipWithIndex.map { case (e, i) => AttributeReference(answer.schema(i).name, e.dataType)() }

  private def combined(function: AggregateFunction, column: Expression): Expression = function match {
    case _: Count => Coalesce(Seq(new Sum(column).toAggregateExpression(), Literal(0L)))
    case _: Min => Min(column).toAggregateExpression()
    case _ => Max(column).toAggregateExpression()
  }

  private def replaced(aggregate: Aggregate, functions: Seq[AggregateExpression], columns: Seq[Attribute])(
      combine: (AggregateFunction, Expression) => Expression): Seq[NamedExpression] =
    aggregate.aggregateExpressions.map(_.transformUp { case e: AggregateExpression =>
      combine(e.aggregateFunction, columns(functions.indexWhere(_.canonicalized == e.canonicalized)))
    }.asInstanceOf[NamedExpression])
}
