package org.apache.spark.sql.parquetry.write

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.parquetry.joingraph.Lineage

/** Facts about a query's rows that its plan shows before they are computed. */
object RowsFacts {
  /** Whether all rows have the same value of each of these columns. */
  def constant(data: DataFrame, columns: java.util.List[String]): Boolean = {
    val plan = data.asInstanceOf[Dataset[_]].queryExecution.analyzed
    columns.asScala.forall(name => plan.output.find(_.name == name).exists(value(plan, _).isDefined))
  }

  /** Whether the query itself arranges its rows: ORDER BY, DISTRIBUTE BY, a hint. */
  def arranged(data: DataFrame): Boolean = arranges(data.asInstanceOf[Dataset[_]].queryExecution.analyzed)

  private def arranges(plan: LogicalPlan): Boolean = plan match {
    case _: Project | _: SubqueryAlias | _: View | _: Filter | _: GlobalLimit | _: LocalLimit => arranges(plan.children.head)
    case _: Sort | _: RepartitionOperation | _: RebalancePartitions => true
    case _ => false
  }

  /** The one value that all rows of a plan give an expression, as an expression without columns. */
  private def value(plan: LogicalPlan, of: Expression): Option[Expression] = plan match {
    case _ if of.references.isEmpty => Some(of).filter(_.deterministic)
    case local: LocalRelation =>
      def there(column: Attribute) = local.data.map(_.get(local.output.indexWhere(_.exprId == column.exprId), column.dataType)).distinct
      Option.when(of.deterministic && of.references.forall(there(_).length == 1))(
        of.transform { case column: Attribute => Literal(there(column).head, column.dataType) })
    case _: Project | _: Aggregate | _: Filter | _: SubqueryAlias | _: View | _: Sort | _: GlobalLimit | _: LocalLimit |
        _: RepartitionOperation | _: RebalancePartitions | _: Union =>
      val values = Lineage.below(of, plan).map { case (below, child) => value(child, below) }
      values.headOption.flatten.filter(one => values.forall(_.exists(_.semanticEquals(one))))
    case _ => None
  }

  /**
   * Returns Spark's estimate of the bytes of a query's largest step, or -1 if the query arranges its rows, or
   * bytes do not show how much work some step is. All steps count, since a step with few bytes may filter
   * many.
   */
  def bytes(data: DataFrame): Long = {
    def plan = data.asInstanceOf[Dataset[_]].queryExecution.optimizedPlan
    if (arranged(data) || plan.exists(unbounded)) -1 else plan.collect { case step => step.stats.sizeInBytes }.max.min(Long.MaxValue).toLong
  }

  private def unbounded(step: LogicalPlan): Boolean = step match {
    case _: Generate | _: ObjectProducer | _: ObjectConsumer | _: ScriptTransformation | _: UnionLoop => true
    case _: InMemoryRelation => true // its rows may not be computed yet
    case _ => step.expressions.exists(_.exists(_.isInstanceOf[UserDefinedExpression]))
  }
}
