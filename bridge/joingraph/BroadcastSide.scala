package org.apache.spark.sql.parquetry.joingraph

import org.apache.spark.sql.catalyst.optimizer.{BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint}
import org.apache.spark.sql.internal.SQLConf

/** Which side of a join Spark is going to broadcast, by its hints and then by the sizes, as in Spark's own choice of a join. */
object BroadcastSide extends JoinSelectionHelper {
  def find(join: Join): Option[BuildSide] = getBroadcastBuildSide(join, hintOnly = true, SQLConf.get)
    .orElse(if (otherwise(join.hint)) None else getBroadcastBuildSide(join, hintOnly = false, SQLConf.get))

  /** Whether a hint has Spark join in another way, whatever the sizes. */
  private def otherwise(hint: JoinHint): Boolean =
    hintToSortMergeJoin(hint) || hintToShuffleHashJoin(hint) || hintToShuffleReplicateNL(hint)
}
