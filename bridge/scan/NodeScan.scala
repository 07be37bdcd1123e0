package org.apache.spark.sql.parquetry.scan

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory, Scan}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}
import org.apache.spark.sql.parquetry.protocol.ScanAnswer
import org.apache.spark.sql.parquetry.versions.RuntimeFilteredScan

/**
 * The scan of one node of a physical plan. Several nodes may have one scan, each with runtime filters of its
 * own, and run at the same time: a file that one node's filter prunes may be needed by another node. So the
 * values that arrive at a node narrow this object alone.
 *
 * @param shared the scan that other nodes may have, too; it makes the partitions and the readers
 */
class NodeScan(shared: ParquetryScan) extends ParquetryScan(shared.plans, shared.mode) {
  if (shared.awaitsValues) awaitValues()
  @volatile private var narrowed = Option.empty[Narrowed]

  override def narrowBy(filters: Array[Expression]): Unit = narrowed = plans.narrow(filters.toSeq)
  /** The files that filters keep, whose values have arrived. */
  def filesOf(filters: Seq[Expression]): ScanAnswer = {
    narrowBy(filters.toArray)
    narrowed.fold(listed)(_.answer)
  }
  override def readNow: ScanAnswer = narrowed.fold(listed)(_.answer)
  override def toBatch: Batch = {
    val state = narrowed
    new PlannedBatch(this, state.fold(listed)(_.answer))
  }
  override def columnarSupportMode(): Scan.ColumnarSupportMode = shared.columnarSupportMode()
  override def partitions(answer: ScanAnswer): Array[InputPartition] = shared.partitions(answer)
  override def readerFactory: PartitionReaderFactory = shared.readerFactory
}

/**
 * Gives each node with runtime filters a scan of its own. It runs last: other rules copy nodes and change
 * scans.
 */
object SeparateScans extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transform {
    case node: BatchScanExec if node.runtimeFilters.nonEmpty => node.scan match {
      case _: NodeScan => node
      case shared: ParquetryScan =>
        val separate = RuntimeFilteredScan.separate(node, new NodeScan(shared))
        separate.copyTagsFrom(node)
        separate
      case _ => node
    }
  }
}

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
