package org.apache.spark.sql.parquetry.rows

import org.json4s._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.write.RowLevelOperation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2Strategy}
import org.apache.spark.sql.parquetry.predicates.{BalancedChains, EvaluatedPartitionPredicates, PartitionPredicates}
import org.apache.spark.sql.parquetry.protocol.Json
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.versions.Overwrite

/**
 * Makes conditions of DELETE and REPLACE WHERE translatable, since a source takes them whole or not at all. A
 * part that is about partition columns, and has no form for sources, becomes the values of the table's
 * partitions that satisfy it.
 */
object EvaluateCommandPredicates extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case rows @ ReplaceData(_, condition, _, r: DataSourceV2Relation, _, _, _)
        if GuardRowConditions.isOurs(rows) && rows.operation.command == RowLevelOperation.Command.DELETE =>
      val found = settled(r, condition)
      if (found fastEquals condition) rows else whole(r, found).getOrElse(rows.copy(condition = found))
    case o @ Overwrite(r: DataSourceV2Relation, condition, _, _, _) =>
      o.copy(deleteExpr = settled(r, condition) match {
        case Literal(null, _) => Literal.FalseLiteral // no row satisfies it, and Spark 4.0 has no predicate for NULL
        case other => other
      })
  }

  /**
   * The same statement on whole partitions, which reads no rows, if the condition selects whole partitions.
   */
  private def whole(relation: DataSourceV2Relation, condition: Expression): Option[LogicalPlan] = {
    val predicates = PartitionPredicates.conjuncts(condition).map(DataSourceV2Strategy.translateFilterV2(_))
    PartitionPredicates.table(relation).filter(table => predicates.forall(_.isDefined) && table.canDeleteWhere(predicates.flatten.toArray))
      .map(_ => DeleteFromTableWithFilters(relation, predicates.flatten))
  }

  private def settled(relation: DataSourceV2Relation, given: Expression): Expression =
    PartitionPredicates.table(relation).fold(given) { table =>
      val columns = PartitionPredicates.columns(relation, table)
      // a statement may write columns' names in any case
      val condition = given.transform {
        case a: AttributeReference => relation.output.find(_.exprId == a.exprId).getOrElse(a)
      }
      val (functions, others) = PartitionPredicates.conjuncts(condition).partitionMap { c =>
        if (PartitionPredicates.evaluable(c) && !PartitionPredicates.plain(c) && c.references.subsetOf(columns)) scala.Left(c) else scala.Right(c)
      }
      if (functions.isEmpty) condition
      else BalancedChains.all(others ++ evaluated(table, relation.output, functions, others)).get
    }

  /**
   * Evaluates `functions` over the partitions that `others` keep. If one of them fails, it is evaluated
   * again, joined with all others by AND: it may fail only for partitions that another one removes. If this
   * fails, too, Spark's own error is raised.
   */
  private def evaluated(table: ParquetryTable, output: Seq[AttributeReference], functions: Seq[Expression],
      others: Seq[Expression]): Seq[Expression] = {
    val known = others.flatMap(DataSourceV2Strategy.translateFilterV2(_)).map(Json.ofExpression)
    val found = EvaluatedPartitionPredicates.values(table, known, functions)
    if (found.forall(_.exact)) found.map(anyOf(_, output))
    else if (functions.length > 1) evaluated(table, output, BalancedChains.all(functions).toSeq, others)
    else throw found.head.failure.get
  }

  private def anyOf(values: EvaluatedPartitionPredicates.Values, output: Seq[Attribute]): Expression = {
    val columns = EvaluatedPartitionPredicates.names(values.condition).map(name => output.find(_.name == name).get)
    def literal(value: String, column: Attribute) = Literal(Json.toValue(value, column.dataType), column.dataType)
    val (withNull, whole) = values.kept.partition(_.contains(null))
    val wholeOnes = columns match {
      case Seq(column) => if (whole.isEmpty) Nil else Seq(In(column, whole.map(row => literal(row.head, column))))
      case _ => whole.map(same(_, columns, literal))
    }
    BalancedChains.balanced[Expression](wholeOnes ++ withNull.map(same(_, columns, literal)), Or(_, _), Literal.FalseLiteral)
  }

  private def same(row: Seq[String], columns: Seq[Attribute], literal: (String, Attribute) => Literal): Expression =
    row.zip(columns).map {
      case (null, column) => IsNull(column)
      case (value, column) => EqualTo(column, literal(value, column))
    }.reduceLeft[Expression](And(_, _))
}
