package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.catalyst.plans.physical.{KeyedPartitioning, Partitioning, PartitioningCollection}
import org.apache.spark.sql.internal.SQLConf

/** What Spark knows of rows in buckets. */
object Bucketing {
  /** Whether a partitioning is by keys, such as buckets. */
  def isKeyed(partitioning: Partitioning): Boolean =
    PartitioningCollection.flatten(partitioning).exists(_.isInstanceOf[KeyedPartitioning])

  /** Whether Spark may join by some of the keys of a partitioning. */
  def usesKeySubsets(conf: SQLConf): Boolean = conf.v2BucketingAllowKeysSubsetOfPartitionKeys
}
