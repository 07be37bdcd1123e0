package org.apache.spark.sql.parquetry.scan

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.versions.ScanOfFiles

/**
 * Makes `df.inputFiles()` list the files of our scans: it asks the leaves of a plan that are a
 * `FileRelation`. After all other optimization, this rule replaces our scans by such leaves.
 */
object ListInputFiles extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case r: DataSourceV2ScanRelation if r.scan.isInstanceOf[ParquetryScan] && !r.isInstanceOf[ScanOfFiles] =>
      ScanOfFiles(r)
  }
}
