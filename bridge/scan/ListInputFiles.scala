package org.apache.spark.sql.parquetry.scan

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.FileRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}

/** `df.inputFiles()` asks the leaves of a plan that say so for their files: scans of ours become such, when all else has been optimized. */
object ListInputFiles extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case r: DataSourceV2ScanRelation if r.scan.isInstanceOf[ParquetryScan] && !r.isInstanceOf[ScanOfFiles] =>
      new ScanOfFiles(r.relation, r.scan, r.output, r.keyGroupedPartitioning, r.ordering, r.pushedFilters, r.mergeableScan)
  }
}

/** The same scan, which tells its files. Its parameters are those of the scan: Spark makes copies by them. */
class ScanOfFiles(of: DataSourceV2Relation, read: Scan, columns: Seq[AttributeReference], grouping: Option[Seq[Expression]],
    order: Option[Seq[SortOrder]], filters: Seq[Expression], mergeable: Boolean)
  extends DataSourceV2ScanRelation(of, read, columns, grouping, order, filters, mergeable) with FileRelation {
  override def inputFiles: Array[String] = scan match {
    case ours: ParquetryScan => ours.paths.toArray
    case _ => Array.empty
  }
  /** Else a rule that puts it in the place of the scan would seem to have changed nothing. */
  override def canEqual(other: Any): Boolean = other.isInstanceOf[ScanOfFiles]
  override def equals(other: Any): Boolean = canEqual(other) && super.equals(other)
  override def hashCode(): Int = super.hashCode()
}
