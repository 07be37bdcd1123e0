package org.apache.spark.sql.parquetry.scan

import org.json4s._

import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.expressions.{Expression, Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.aggregate._
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.parquetry.predicates.{EvaluatedDirectoryPredicates, EvaluatedPartitionPredicates}
import org.apache.spark.sql.parquetry.protocol.{AggregateAnswer, Json, MaybeAggregateAnswer, PlannerAnswer}
import org.apache.spark.sql.parquetry.table.{ParquetryTable, PushedPredicate}
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
  protected var required: StructType = table.logical
  private var aggregate: Option[AggregateAnswer] = None

  private def ask(op: String, fields: JField*): PlannerAnswer =
    table.ref.ask(op, table.identity ++ Seq[JField]("predicates" -> JArray(pushed.map(_.tree).toList)) ++ fields: _*)

  /**
   * Returns the predicates that Spark has to evaluate on every row. Spark calls twice: the returned
   * predicates of partition columns alone come again, in a form that can be evaluated over the partitions'
   * values.
   */
  override def supportsIterativePushdown(): Boolean = true
  override def pushPredicates(offered: Array[Predicate]): Array[Predicate] = {
    val again = offered.collect { case p: OnPartitions => p }
    val (ofHidden, ofRows) = offered.toSeq.partition(_.references().exists(table.isHidden(_)))
    val judged =
      if (again.isEmpty) table.judge(ofRows, options)
      else EvaluatedPartitionPredicates.evaluate(table, pushed.map(_.tree), again.toSeq)
    pushed = (if (again.isEmpty) pushed else pushed.filterNot(_.again)) ++ judged
    (judged.filterNot(_.exact).map(_.predicate) ++ ofHidden).toArray
  }
  /** Leaves out predicates that Spark is to offer again: it offers none again that is pushed. */
  override def pushedPredicates(): Array[Predicate] = pushed.filterNot(_.again).map(_.predicate).toArray

  override def supportCompletePushDown(aggregation: Aggregation): Boolean = {
    if (aggregate.isEmpty) aggregate = answered(aggregation)
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
    ask("aggregate", "functions" -> JArray(functions.flatten.toList), "group_by" -> Json.strings(groups.flatten))
      .as[MaybeAggregateAnswer].aggregated
  }

  /**
   * Reads a column with a default value whole: the readers know only the whole default, for files without the
   * column. Chars are strings in a scan, as Spark has them there.
   */
  override def pruneColumns(schema: StructType): Unit =
    required = CharVarcharUtils.replaceCharVarcharWithStringInSchema(StructType(schema.map(f =>
      table.logical.find(_.name == f.name).filter(_.getExistenceDefaultValue().isDefined).getOrElse(f))))

  override def build(): Scan = aggregate match {
    case Some(answer) => new MetadataScan(answer, pushed.map(_.tree), table.versioned)
    case None =>
      table.requireTypes(required)
      new ParquetryScan(
        table, EvaluatedDirectoryPredicates.evaluate(table, EvaluatedPartitionPredicates.evaluate(table, pushed)), required, options)
  }
}
