package org.apache.spark.sql.parquetry.filescans

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/**
 * A node that reads a scan, with the node's runtime filters. It is Spark's node for sources, or a node that
 * has a scan's files as its relation: Spark's scan of files, or a native engine's node made of that.
 */
object ScanNode {
  def unapply(node: SparkPlan): Option[(Scan, Seq[Expression])] = node match {
    case scan: BatchScanExec => Some((scan.scan, scan.runtimeFilters))
    case leaf if leaf.children.isEmpty => leaf.productIterator.collectFirst { case relation: HadoopFsRelation => relation.location }.collect {
      case files: ChosenFiles => (files.scan, leaf.expressions.flatMap(_.collect { case found: FilesOfValues => found.shown }).flatten)
    }
    case _ => None
  }
}
