package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, SortOrder}
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.FileRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}

/**
 * A scan in a logical plan: its relation, scan, columns, grouping and order. Spark's own pattern has more
 * fields.
 */
object ScanRelation {
  def unapply(found: DataSourceV2ScanRelation): Some[
      (DataSourceV2Relation, Scan, Seq[AttributeReference], Option[Seq[Expression]], Option[Seq[SortOrder]])] =
    Some((found.relation, found.scan, found.output, found.keyGroupedPartitioning, found.ordering))

  /**
   * A scan that gives fewer rows than the query's conditions select, or other rows. Spark must not merge it
   * with another scan of the table, as it would read all rows.
   */
  def narrowed(found: DataSourceV2ScanRelation, scan: Scan, output: Seq[AttributeReference]): DataSourceV2ScanRelation =
    found.copy(scan = scan, output = output, keyGroupedPartitioning = None, ordering = None, mergeableScan = false)
}

/** A scan that can list its files. */
trait ListsFiles {
  def paths: Seq[String]
}

/**
 * The same scan, which can list its files. It has the parameters of its base class: Spark makes copies with
 * them.
 */
class ScanOfFiles(of: DataSourceV2Relation, read: Scan, columns: Seq[AttributeReference], grouping: Option[Seq[Expression]],
    order: Option[Seq[SortOrder]], filters: Seq[Expression], mergeable: Boolean)
  extends DataSourceV2ScanRelation(of, read, columns, grouping, order, filters, mergeable) with FileRelation {
  override def inputFiles: Array[String] = scan match {
    case ours: ListsFiles => ours.paths.toArray
    case _ => Array.empty
  }
  /** Unequal to the scan that it replaces: Spark drops a rule's result if it equals the plan before. */
  override def canEqual(other: Any): Boolean = other.isInstanceOf[ScanOfFiles]
  override def equals(other: Any): Boolean = canEqual(other) && super.equals(other)
  override def hashCode(): Int = super.hashCode()
}

object ScanOfFiles {
  def apply(r: DataSourceV2ScanRelation): ScanOfFiles =
    new ScanOfFiles(r.relation, r.scan, r.output, r.keyGroupedPartitioning, r.ordering, r.pushedFilters, r.mergeableScan)
}
