package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.parquetry.table.{ParquetryTable, TableRelation}
import org.apache.spark.sql.parquetry.versions.InsertingMerge
import org.apache.spark.sql.parquetry.write.ParquetryWrite

/**
 * Gives the write of a MERGE that only inserts its search columns (`RecordMergeSearch`). Spark plans the
 * MERGE itself.
 */
object MarkInsertOnlyMerge extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    plan match {
      case InsertingMerge(TableRelation(table: ParquetryTable), Some(write: ParquetryWrite), Some(query)) =>
        write.searchedBy = Some(RecordMergeSearch.insertColumns(table, query))
      case _ =>
    }
    Nil
  }
}
