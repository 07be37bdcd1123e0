package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.expressions.{Expression, TransformExpression}
import org.apache.spark.sql.catalyst.plans.physical.{KeyGroupedPartitioning, Partitioning, PartitioningCollection}
import org.apache.spark.sql.connector.catalog.functions.{BoundFunction, Reducer}
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, IntegerType}

/** Rows in buckets, as Spark knows them. */
object Bucketing {
  /** Whether a partitioning is by keys, such as buckets. */
  def isKeyed(partitioning: Partitioning): Boolean = partitioning match {
    case several: PartitioningCollection => several.partitionings.exists { case one: Partitioning => isKeyed(one) }
    case one => one.isInstanceOf[KeyGroupedPartitioning]
  }

  /** The functions and the keys of partitions, of a partitioning by keys that are numbers. */
  def keys(partitioning: Partitioning): Option[(Seq[Expression], Seq[Seq[Int]])] = partitioning match {
    case keyed: KeyGroupedPartitioning if keyed.expressions.forall(_.dataType == IntegerType) =>
      Some(keyed.expressions -> keyed.partitionValues.map(key => keyed.expressions.indices.map(key.getInt)))
    case _ => None
  }

  /** Whether joins may fold buckets by reducers. Spark 4.1 loses rows then. */
  val reduces: Boolean = false

  /** Whether Spark may join by some of the keys of a partitioning. */
  def usesKeySubsets(conf: SQLConf): Boolean = conf.v2BucketingAllowJoinKeysSubsetOfPartitionKeys

  /** Whether Spark reads several sorted files of a bucket as one: Spark 4.1 does not. */
  def mergesSortedFiles(conf: SQLConf): Boolean = false

  /** A node that reads another scan, without buckets. */
  def without(node: BatchScanExec, scan: Scan): BatchScanExec =
    node.copy(scan = scan, ordering = None, spjParams = node.spjParams.copy(
      keyGroupedPartitioning = None, joinKeyPositions = None, commonPartitionValues = None, reducers = None,
      applyPartialClustering = false, replicatePartitions = false))

  /** Whether a node brings the tasks of buckets together: in Spark 4.1, scans do so themselves. */
  def groups(node: SparkPlan): Boolean = false
}

/** A function of columns in a partitioning, such as the hash function of buckets. */
object BucketTransform {
  def unapply(found: TransformExpression): Some[(BoundFunction, Seq[Expression])] = Some((found.function, found.children))
}

/** A reducer that says the type of its results, and its name. Spark 4.1 asks for neither. */
trait TypedReducer[I, O] extends Reducer[I, O] {
  def resultType(): DataType
  def displayName(): String
}
