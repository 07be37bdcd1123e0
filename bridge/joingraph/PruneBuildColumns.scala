package org.apache.spark.sql.parquetry.joingraph

import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * Prunes the columns of a plan that runs only for the values of some columns, since Spark does not optimize
 * it again. A side that a join would broadcast is not changed: the query may have the same broadcast.
 */
object PruneBuildColumns {
  def of(plan: LogicalPlan, needed: AttributeSet): LogicalPlan = plan match {
    case project @ Project(list, child) =>
      val kept = list.filter(needed.contains)
      project.copy(projectList = kept, child = of(child, AttributeSet.fromAttributeSets(kept.map(_.references))))
    case filter @ Filter(condition, child) => filter.copy(child = of(child, needed ++ condition.references))
    case join: Join =>
      val wanted = needed ++ AttributeSet.fromAttributeSets(join.condition.map(_.references).toSeq)
      val broadcast = BroadcastSide.find(join)
      join.copy(
        left = if (broadcast.contains(BuildLeft)) join.left else of(join.left, wanted),
        right = if (broadcast.contains(BuildRight)) join.right else of(join.right, wanted))
    case relation @ ScanRelation(_, scan: ParquetryScan, output, buckets, order) =>
      val told = AttributeSet.fromAttributeSets((buckets.toSeq.flatten ++ order.toSeq.flatten).map(_.references))
      val fewer = scan.withColumns(output.filter((needed ++ told).contains).map(_.name).toSet)
      val read = fewer.readSchema().fieldNames.toSet
      if (read.size == output.size) relation else relation.copy(scan = fewer, output = output.filter(a => read(a.name)))
    case other => other
  }
}

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
