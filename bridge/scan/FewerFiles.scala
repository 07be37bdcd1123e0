package org.apache.spark.sql.parquetry.scan

import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Puts a scan with fewer files into a relation, whose buckets Spark knows already. If the remaining files are
 * in buckets by other columns, or in none, then the relation loses its buckets: a number means other rows.
 */
object FewerFiles {
  def apply(relation: DataSourceV2ScanRelation, all: ParquetryScan, fewer: ParquetryScan): DataSourceV2ScanRelation =
    if (relation.keyGroupedPartitioning.isEmpty || hash(all) == hash(fewer)) relation.copy(scan = fewer)
    else relation.copy(scan = fewer, keyGroupedPartitioning = None, ordering = None)

  /** The hash of the buckets. Their count may differ: joins agree on one later. */
  private def hash(scan: ParquetryScan): Option[Any] = scan.buckets.map(found => (found.version, found.columns, found.types))
}
