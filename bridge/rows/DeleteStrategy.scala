package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, LogicalPlan, Project}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.table.ParquetryTable

/**
 * A DELETE of all rows, the only one that Spark does not make a statement on rows or on partitions of. It pushes columns into that scan, too,
 * and puts a projection over it if the scan gives them in another order; then it no longer knows the table. The projection holds the same
 * columns and may go.
 */
object DeleteStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case d @ DeleteFromTable(Project(_, scan: DataSourceV2ScanRelation), _) if scan.relation.table.isInstanceOf[ParquetryTable] =>
      planLater(d.copy(table = scan)) :: Nil
    case _ => Nil
  }
}
