package org.apache.spark.sql.parquetry.joingraph

import org.apache.spark.sql.catalyst.optimizer.{BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint}
import org.apache.spark.sql.internal.SQLConf

/**
 * Finds the side of a join that Spark will broadcast: by hints first, then by sizes, as Spark itself chooses.
 */
object BroadcastSide extends JoinSelectionHelper {
  def find(join: Join): Option[BuildSide] = getBroadcastBuildSide(join, hintOnly = true, SQLConf.get)
    .orElse(if (otherwise(join.hint)) None else getBroadcastBuildSide(join, hintOnly = false, SQLConf.get))

  /** Whether a hint makes Spark join in another way, at any sizes. */
  private def otherwise(hint: JoinHint): Boolean =
    hintToSortMergeJoin(hint) || hintToShuffleHashJoin(hint) || hintToShuffleReplicateNL(hint)
}
