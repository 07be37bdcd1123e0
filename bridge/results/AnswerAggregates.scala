package org.apache.spark.sql.parquetry.results

import org.json4s._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation, LogicalPlan, Project, Union}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.{TreeNodeTag, TreePattern}
import org.apache.spark.sql.parquetry.predicates.EvaluatedPartitionPredicates
import org.apache.spark.sql.parquetry.protocol.{AggregateAnswer, MaybeAggregateAnswer}
import org.apache.spark.sql.parquetry.scan.{MetadataScan, ParquetryScan}
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
    calls <- all(functions.indices.map(i => call(functions(i).aggregateFunction, below.expressions(i), below.scan)))
  } yield {
    val sent = List[JField]("functions" -> JArray(calls.toList), "hindrance" -> below.hindrance)
    val answer = below.scan.table.ref.ask("aggregate", below.scan.table.identity ++ Seq[JField](
      "predicates" -> JArray(below.scan.planTimeConditions.toList), "group_by" -> JArray(Nil), "partly" -> JBool(true)) ++ sent: _*).as[MaybeAggregateAnswer].aggregated
    val first: Option[JField] = functions match {
      case Seq(one) => extreme(one, below).map("first" -> _)
      case _ => None
    }
    def read(fields: List[JField]): LogicalPlan = ScanBelow.replaced(aggregate.child, Nil) { found =>
      found.reading(JObject(fields))
    }
    answer match {
      case Some(found) if found.files == 0 => whole(aggregate, functions, below, found)
      case Some(found) => partly(aggregate, functions, found, read(first.toList :+ ("answered" -> JObject(sent): JField)))
      case None if first.isDefined =>
        val ordered = aggregate.copy(child = read(first.toList))
        ordered.setTagValue(asked, ())
        ordered
      case None => aggregate
    }
  }

  /** A minimum or maximum as the first row of an order (`FirstRows` in `prune/needed_rows.py`). */
  private def extreme(of: AggregateExpression, below: ScanBelow): Option[JObject] = {
    def ordered(descending: Boolean) = Some(JObject(
      "count" -> JInt(1),
      "key" -> JObject(
        "column" -> ScanBelow.column(below.expressions.head, below.scan).fold[JValue](JNull)(JString(_)),
        "text" -> JString(EvaluatedPartitionPredicates.text(below.expressions.head)),
        "descending" -> JBool(descending), "nulls_first" -> JBool(false)),
      "hindrance" -> below.hindrance,
      "written" -> JString(EvaluatedPartitionPredicates.text(of))))
    of.aggregateFunction match {
      case _: Min => ordered(descending = false)
      case _: Max => ordered(descending = true)
      case _ => None
    }
  }

  /** The functions of an aggregate, or None if some are neither `count`, `min` nor `max` of all rows. */
  private def functionsOf(aggregate: Aggregate): Option[Seq[AggregateExpression]] = {
    val found = aggregate.aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e }).distinctBy(_.canonicalized)
    Option.when(found.nonEmpty && found.forall(e => !e.isDistinct && e.filter.isEmpty && e.mode == Complete &&
      argument(e.aggregateFunction).isDefined))(found)
  }

  private def argument(function: AggregateFunction): Option[Expression] = function match {
    case Count(Seq(one)) => Some(one)
    case Min(column) => Some(column)
    case Max(column) => Some(column)
    case _ => None
  }

  private def scanOf(aggregate: Aggregate, functions: Seq[AggregateExpression]): Option[ScanBelow] = {
    var found = Seq.empty[ScanBelow]
    ScanBelow.replaced(aggregate.child, functions.flatMap(e => argument(e.aggregateFunction))) { below =>
      found :+= below
      below.relation
    }
    found.headOption.filter(below => found.length == 1 && below.scan.needed.isEmpty && !aggregate.child.exists(_.isInstanceOf[Union]))
  }

  private def call(function: AggregateFunction, of: Expression, scan: ParquetryScan): Option[JValue] = {
    def field(name: String, column: Option[String]) =
      JObject("function" -> JString(name), "column" -> column.fold[JValue](JNull)(JString(_)))
    def ofColumn(name: String) = ScanBelow.column(of, scan).map(column => field(name, Some(column)))
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
      aggregate: Aggregate, functions: Seq[AggregateExpression], below: ScanBelow, answer: AggregateAnswer): LogicalPlan = {
    val columns = columnsOf(functions, answer)
    val relation = ScanRelation.narrowed(
      below.relation, new MetadataScan(answer, below.scan.asked, below.scan.table.versioned), columns)
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
