package org.apache.spark.sql.parquetry.write

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.predicates.{EvaluatedPartitionPredicates, PartitionPredicates}
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.versions.Overwrite
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Has Spark check the rows of a REPLACE WHERE whose condition the planner does not understand. The first row
 * that does not satisfy the condition fails its task, with the error that the planner raises for other
 * conditions.
 */
object CheckReplaceWhereRows extends Rule[LogicalPlan] {
  /** Option that says to the planner that Spark checks the rows. */
  private val checked = "parquetry.rows-checked"
  private val longestValue = 100

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case o @ Overwrite(r: DataSourceV2Relation, condition, query, options, _)
        if o.resolved && !options.contains(checked) && r.table.isInstanceOf[ParquetryTable] &&
          !PartitionPredicates.plain(condition) && PartitionPredicates.evaluable(condition) =>
      val marked = options ++ r.options.asCaseSensitiveMap().asScala + (checked -> "true")
      // statement and relation each carry options or none; Spark refuses two that differ
      val relation = if (r.options.isEmpty) r else r.copy(options = new CaseInsensitiveStringMap(marked.asJava))
      o.copy(table = relation, query = guarded(r, condition, query), writeOptions = marked)
  }

  private def guarded(relation: DataSourceV2Relation, condition: Expression, query: LogicalPlan): LogicalPlan = {
    val rows = AttributeMap(relation.output.zip(query.output))
    val holds = condition.transform { case a: Attribute => rows.getOrElse(a, a) }
    val values = condition.references.toSeq.flatMap { a =>
      val shown = Coalesce(Seq(Cast(rows(a), StringType, Some(conf.sessionLocalTimeZone)), Literal("NULL")))
      Seq(Literal(s"\n${a.name} = "), Substring(shown, Literal(1), Literal(longestValue)))
    }
    val sql = EvaluatedPartitionPredicates.written(condition.transform { case a: AttributeReference => a.withQualifier(Nil) })
    val told = Concat(Literal(s"$checked: $sql") +: values)
    val first = query.output.head
    val guard = If(EqualNullSafe(holds, Literal.TrueLiteral), first, Cast(new RaiseError(told), first.dataType))
    Project(Alias(guard, first.name)() +: query.output.tail, query)
  }
}
