package org.apache.spark.sql.parquetry.predicates

import scala.util.control.NonFatal

import org.json4s._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.{Predicate => Bound}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy
import org.apache.spark.sql.parquetry.protocol.{CharPadding, HeavyValuesAnswer, Json, ValueRows}
import org.apache.spark.sql.parquetry.table.{ParquetryTable, PushedPredicate}
import org.apache.spark.sql.parquetry.versions.Pushdown
import org.apache.spark.sql.types.CharType

/**
 * Conditions on data columns that are more than comparisons with literals (functions, casts, two columns
 * compared). The planner gets their expressions, to judge files by bounds. On skewed columns, Spark evaluates
 * them over the values of directories for heavy values, once for each row of values. With functions that the
 * planner does not know, it evaluates them over the values of files with one value in all rows, too.
 *
 * A condition may be about other columns, too. Then Spark evaluates the part that is not: the condition
 * `upper(y) = 'A' AND v > 1 OR x + 1 = 3` implies for directories by x and y that `upper(y) = 'A' OR x + 1 =
 * 3`.
 */
object EvaluatedDirectoryPredicates {
  /**
   * Adds to predicates their expressions, and their failing values: the values of directories that make them
   * not true. If an evaluation itself fails, the directory is kept, and Spark tests its rows.
   */
  def evaluate(table: ParquetryTable, pushed: Seq[PushedPredicate]): Seq[PushedPredicate] = {
    val conditions = table.onDirectories.filterNot(PartitionPredicates.decides(table, _))
    if (conditions.isEmpty) pushed
    else {
      val trees = conditions.map(DataSourceV2Strategy.translateFilterV2(_).map(Json.ofExpression))
      val asks = table.hasDirectories || conditions.exists(c => PartitionPredicates.evaluable(c) && ExpressionTrees.isUnclear(c))
      val values = if (asks) heavyValues(table, pushed, conditions, trees) else conditions.map(_ => Nil)
      conditions.indices.foldLeft(pushed) { (all, i) =>
        beside(all, conditions(i), trees(i), values(i).flatMap(failing(conditions(i), _, table)))
      }
    }
  }

  private def heavyValues(
      table: ParquetryTable, pushed: Seq[PushedPredicate], conditions: Seq[Expression], trees: Seq[Option[JValue]]): Seq[Seq[ValueRows]] =
    table.askOnce("heavy_values",
      "predicates" -> JArray(pushed.map(_.tree).toList),
      "conditions" -> JArray(conditions.zip(trees).toList.map { case (condition, tree) =>
        JObject("columns" -> Json.strings(names(condition)), "tree" -> tree.getOrElse(JNull))
      })).as[HeavyValuesAnswer].values

  /** The text in a report of an evaluated condition that has no form for sources, else None. */
  def untranslated(tree: JValue): Option[String] = (tree \ "fn", tree \ "tree", tree \ "sql") match {
    case (JString("DIRECTORY_PREDICATE"), _, JString(sql)) => Some(sql)
    case (JString("PARTITION_PREDICATE"), _, JString(sql)) if !Pushdown.givesOnPartitions => Some(sql)
    case _ => None
  }

  private def names(condition: Expression): Seq[String] = condition.references.toSeq.map(_.name).distinct

  private def failing(condition: Expression, values: ValueRows, table: ParquetryTable): Option[JObject] =
    PartitionPredicates.part(condition, AttributeSet(condition.references.filter(a => values.columns.contains(a.name))))
      .filter(e => PartitionPredicates.evaluable(e) && !PartitionPredicates.plain(e) && !readsBlanks(e, table)).flatMap { part =>
        val columns = part.references.toSeq
        val places = columns.map(a => values.columns.indexOf(a.name))
        val types = columns.map(a => table.logical(a.name).dataType)
        val bound = Bound.createInterpreted(BindReferences.bindReference(part, columns))
        val fails = values.rows.map(row => places.map(row(_))).distinct.filterNot(row =>
          holds(bound, InternalRow.fromSeq(row.zip(types).map { case (value, dataType) => Json.toValue(value, dataType) })))
        Option.when(fails.nonEmpty)(JObject(
          "columns" -> Json.strings(columns.map(_.name)), "rows" -> JArray(fails.map(Json.ofTexts).toList)))
      }

  private def holds(condition: BasePredicate, values: InternalRow): Boolean =
    try condition.eval(values) catch { case NonFatal(_) | _: StackOverflowError => true }

  /** Whether a condition reads a char as files have it, with any number of blanks. */
  private def readsBlanks(e: Expression, table: ParquetryTable): Boolean = e match {
    case CharPadding(_) => false
    case a: AttributeReference => !table.partitionColumns.contains(a.name) &&
      CharVarcharUtils.getRawType(table.logical(a.name).metadata).exists(_.isInstanceOf[CharType])
    case other => other.children.exists(readsBlanks(_, table))
  }

  /**
   * Adds a condition's expression and its failing values to its predicate. A condition without a form for
   * sources becomes another predicate. One that the planner understands whole needs no expression.
   *
   * @param offered the condition's tree, or None if it has no form for sources
   */
  private def beside(
      pushed: Seq[PushedPredicate], condition: Expression, offered: Option[JValue], fails: Seq[JObject]): Seq[PushedPredicate] = {
    val expression = if (PartitionPredicates.evaluable(condition)) ExpressionTrees.of(EvaluatedPartitionPredicates.unmarked(condition)) else JNull
    def tree(of: JValue, expression: JValue) = JObject("fn" -> JString("DIRECTORY_PREDICATE"),
      "sql" -> JString(EvaluatedPartitionPredicates.text(condition)), "columns" -> Json.strings(names(condition)), "tree" -> of,
      "expression" -> expression, "fails" -> JArray(fails.toList))
    pushed.indexWhere(p => offered.contains(p.tree)) match {
      case -1 => pushed ++ Pushdown.onPartitions(condition).map(PushedPredicate(_, tree(JNull, expression), exact = false))
      case place if pushed(place).exact && fails.isEmpty => pushed
      case place =>
        val found = pushed(place)
        pushed.updated(place, found.copy(tree = tree(found.tree, if (found.exact) JNull else expression)))
    }
  }
}
