package org.apache.spark.sql.parquetry.write

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.columnar.InMemoryRelation

/** Facts about a query's rows that its plan shows before they are computed. */
object RowsFacts {
  /** Whether all rows have the same value of each of these columns. */
  def constant(data: DataFrame, columns: java.util.List[String]): Boolean = {
    val plan = data.asInstanceOf[Dataset[_]].queryExecution.analyzed
    columns.asScala.forall(name => plan.output.find(_.name == name).exists(value(plan, _).isDefined))
  }

  /** The one value that all rows have of a column, as an expression without columns. */
  private def value(plan: LogicalPlan, column: Attribute): Option[Expression] = plan match {
    case Project(columns, child) => value(columns, column, child)
    case Aggregate(_, columns, child, _) => value(columns, column, child)
    case _: Filter | _: SubqueryAlias | _: View | _: Sort | _: GlobalLimit | _: LocalLimit | _: RepartitionOperation | _: RebalancePartitions =>
      value(plan.children.head, column)
    case union: Union =>
      val place = union.output.indexWhere(_.exprId == column.exprId)
      val values = union.children.map(child => value(child, child.output(place)))
      values.head.filter(one => values.forall(_.exists(_.semanticEquals(one))))
    case local: LocalRelation =>
      val place = local.output.indexWhere(_.exprId == column.exprId)
      local.data.map(_.get(place, column.dataType)).distinct match {
        case Seq(one) => Some(Literal(one, column.dataType))
        case _ => None
      }
    case _ => None
  }

  private def value(columns: Seq[NamedExpression], column: Attribute, child: LogicalPlan): Option[Expression] =
    columns.find(_.exprId == column.exprId).flatMap {
      case Alias(made, _) if made.deterministic =>
        val values = made.references.toSeq.map(of => of.exprId -> value(child, of)).toMap
        Option.when(values.values.forall(_.isDefined))(made.transform { case of: Attribute => values(of.exprId).get })
      case of: Attribute => value(child, of)
      case _ => None
    }

  /**
   * Returns Spark's estimate of the bytes of a query's largest step, or -1 if bytes do not show how much work
   * some step is. All steps count, since a step with few bytes may filter many.
   */
  def bytes(data: DataFrame): Long = {
    val plan = data.asInstanceOf[Dataset[_]].queryExecution.optimizedPlan
    if (plan.exists(unbounded)) -1 else plan.collect { case step => step.stats.sizeInBytes }.max.min(Long.MaxValue).toLong
  }

  private def unbounded(step: LogicalPlan): Boolean = step match {
    case _: Generate | _: ObjectProducer | _: ObjectConsumer | _: ScriptTransformation | _: UnionLoop => true
    case _: InMemoryRelation => true // its rows may not be computed yet
    case _ => step.expressions.exists(_.exists(_.isInstanceOf[UserDefinedExpression]))
  }
}
