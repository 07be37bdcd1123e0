package org.apache.spark.sql.parquetry.predicates

import java.util.UUID

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.parquetry.table.{ParquetryTable, TableRelation}
import org.apache.spark.sql.parquetry.versions.Pushdown

/**
 * Gives a table conditions on data columns that have no form for sources, or whose form lacks details. Spark
 * does not offer them to a source. But they may prune files by their bounds (`ExpressionTrees`), and
 * directories for heavy values, once the scan is built (`EvaluatedDirectoryPredicates`). The filter itself
 * stays.
 *
 * Some versions of Spark do not give a scan conditions on partition columns to evaluate over the values of
 * partitions (`Pushdown.givesOnPartitions`). There the table gets these conditions here, too.
 */
object OfferDirectoryPredicates extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case f @ Filter(condition, relation @ TableRelation(table: ParquetryTable))
        if !table.isStreamed && table.onDirectories.isEmpty =>
      val columns = relation.output.filter(a => table.logical.fieldNames.contains(a.name))
      val ofFiles = AttributeSet(columns.filterNot(a => table.partitionColumns.contains(a.name)))
      val found = PartitionPredicates.conjuncts(condition).filter(c => !PartitionPredicates.plain(c) && !GuardUntranslatablePredicates.isDeep(c) &&
        (if (c.references.exists(ofFiles.contains)) table.hasDirectories || PartitionPredicates.evaluable(c)
        else !Pushdown.givesOnPartitions && PartitionPredicates.decides(table, c)))
      if (found.isEmpty) f
      else {
        val asked = relation.copy(table = table.withConditions(found.map(named(_, columns))))
        asked.copyTagsFrom(relation)
        f.copy(child = asked)
      }
  }

  /** The condition with columns by their indices, so that two scans of one table have equal conditions. */
  private def named(condition: Expression, columns: Seq[AttributeReference]): Expression = {
    val places = AttributeMap(columns.zipWithIndex.map { case (a, place) =>
      a -> AttributeReference(a.name, a.dataType, a.nullable)(ExprId(place, noOne), Nil)
    })
    condition.transform { case a: AttributeReference => places.getOrElse(a, a) }
  }
  private val noOne = new UUID(0, 0)
}
