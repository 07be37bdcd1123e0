package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.connector.SupportsRuntimeCatalystFiltering

/** A scan whose node gives it runtime filters as Spark's own expressions, once their values have arrived. */
trait RuntimeFilteredScan extends SupportsRuntimeCatalystFiltering

object RuntimeFilteredScan {
  /** The node with another scan, which gets the node's filters. */
  def separate(node: BatchScanExec, scan: RuntimeFilteredScan): BatchScanExec = node.copy(scan = scan)
}
