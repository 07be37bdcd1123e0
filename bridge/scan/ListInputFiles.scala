package org.apache.spark.sql.parquetry.scan

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.FileRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}

/**
 * Makes `df.inputFiles()` list the files of our scans: it asks the leaves of a plan that are a
 * `FileRelation`. After all other optimization, this rule replaces our scans by such leaves.
 */
object ListInputFiles extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case r: DataSourceV2ScanRelation if r.scan.isInstanceOf[ParquetryScan] && !r.isInstanceOf[ScanOfFiles] =>
      new ScanOfFiles(r.relation, r.scan, r.output, r.keyGroupedPartitioning, r.ordering, r.pushedFilters, r.mergeableScan)
  }
}

/**
 * The same scan, which can list its files. It has the parameters of its base class: Spark makes copies with
 * them.
 */
class ScanOfFiles(of: DataSourceV2Relation, read: Scan, columns: Seq[AttributeReference], grouping: Option[Seq[Expression]],
    order: Option[Seq[SortOrder]], filters: Seq[Expression], mergeable: Boolean)
  extends DataSourceV2ScanRelation(of, read, columns, grouping, order, filters, mergeable) with FileRelation {
  override def inputFiles: Array[String] = scan match {
    case ours: ParquetryScan => ours.paths.toArray
    case _ => Array.empty
  }
  /** Unequal to the scan that it replaces: Spark drops a rule's result if it equals the plan before. */
  override def canEqual(other: Any): Boolean = other.isInstanceOf[ScanOfFiles]
  override def equals(other: Any): Boolean = canEqual(other) && super.equals(other)
  override def hashCode(): Int = super.hashCode()
}
