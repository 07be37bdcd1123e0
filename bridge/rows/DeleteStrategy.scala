package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, LogicalPlan, Project}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.table.ParquetryTable

/**
 * Plans a DELETE of all rows. Spark makes a statement on rows or partitions of any other DELETE, but not of
 * this one. It pushes columns into this scan, too, and adds a projection if the scan gives them in another
 * order; then it no longer finds the table. The projection has the same columns, so it is removed.
 */
object DeleteStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case d @ DeleteFromTable(Project(_, scan: DataSourceV2ScanRelation), _) if scan.relation.table.isInstanceOf[ParquetryTable] =>
      planLater(d.copy(table = scan)) :: Nil
    case _ => Nil
  }
}
