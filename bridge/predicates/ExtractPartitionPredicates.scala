package org.apache.spark.sql.parquetry.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.table.ParquetryTable

/**
 * Adds to a condition its part that is about partition columns alone. For example, `(upper(p) = 'A' AND x >
 * 1) OR p = 'b'` implies `upper(p) = 'A' OR p = 'b'`. Spark extracts such parts for its own sources, but not
 * for V2 sources.
 *
 * Spark evaluates no conditions over partitions' values for a V2 table with buckets. So the table is
 * described to Spark without its buckets here (`ParquetryTable.scanned`).
 */
object ExtractPartitionPredicates extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case f @ Filter(condition, relation: DataSourceV2Relation) => PartitionPredicates.table(relation).fold(f) { table =>
      val found = parts(condition, relation, table)
      f.copy(
        condition = BalancedChains.all(condition +: found).get,
        child = if (table.isArranged) relation.copy(table = table.scanned) else relation)
    }
  }

  private def parts(condition: Expression, relation: DataSourceV2Relation, table: ParquetryTable): Seq[Expression] = {
    val columns = PartitionPredicates.columns(relation, table)
    val conjuncts = PartitionPredicates.conjuncts(condition)
    conjuncts.filterNot(_.references.subsetOf(columns)).flatMap(PartitionPredicates.part(_, columns))
      .filter(e => PartitionPredicates.evaluable(e) && !PartitionPredicates.plain(e) && !conjuncts.exists(_.semanticEquals(e)))
      .map { e => e.setTagValue(EvaluatedPartitionPredicates.follows, ()); e }
  }
}
