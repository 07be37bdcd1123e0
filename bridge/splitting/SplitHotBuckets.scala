package org.apache.spark.sql.parquetry.splitting

import org.json4s._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{AttributeSet, ExprId, Expression}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.joingraph.{BroadcastSide, EquiJoin, JoinSide, LogicalNames}
import org.apache.spark.sql.parquetry.protocol.{BucketsAnswer, JoinsAnswer, SplitAnswer}
import org.apache.spark.sql.parquetry.scan.{ParquetryScan, SplitBuckets}
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * Has several tasks read a hot bucket of a join. The planner decides which, and says why
 * (`joins/bucket_splits.py`); this rule finds the joins where that is right.
 *
 * Spark zips the partitions of both sides that have equal keys. So each task of a hot bucket gets a key of
 * its own, a number above the buckets' numbers. One side has a part of the bucket's rows there, the other
 * side all of the bucket. Above the join, equal keys are in several tasks, which `HideBuckets` keeps from
 * Spark.
 *
 * Spark's setting `partiallyClusteredDistribution` splits buckets, too. It splits each bucket of several
 * files, also small ones, and no single file, and chooses the side by total sizes. In several versions it
 * lost rows, or doubled them (SPARK-53074, SPARK-55848, SPARK-58996).
 */
object SplitHotBuckets extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    val found = if (joinsInBuckets) candidates(plan, Nil) else Nil
    if (found.isEmpty) plan else split(plan, found)
  }

  /** Whether Spark's settings have it join buckets by their keys alone, and shuffle both sides or none. */
  private def joinsInBuckets: Boolean =
    conf.v2BucketingEnabled && conf.v2BucketingPushPartValuesEnabled && !conf.v2BucketingShuffleEnabled &&
      !conf.v2BucketingPartiallyClusteredDistributionEnabled

  private case class Candidate(join: Join, sides: Seq[BucketedSide])
  private case class BucketedSide(relation: DataSourceV2ScanRelation, scan: ParquetryScan, buckets: BucketsAnswer, keys: Seq[ExprId])

  /**
   * The joins of a plan that may have hot buckets.
   *
   * @param clustering for each node above, the columns that it wants rows together by
   */
  private def candidates(plan: LogicalPlan, clustering: Seq[AttributeSet]): Seq[Candidate] = plan match {
    case _: HideBuckets => Nil
    case join @ Join(_, _, _, _, _) => candidate(join).filter(found => !clustering.exists(usesBuckets(_, found))) match {
      case Some(found) => Seq(found)
      case None =>
        val keys = if (BroadcastSide.find(join).nonEmpty) Nil else EquiJoin.unapply(join).toSeq.flatMap { case (left, right, _) =>
          Seq(AttributeSet(left.keys), AttributeSet(right.keys))
        }
        join.children.flatMap(candidates(_, clustering ++ keys))
    }
    case aggregate: Aggregate => candidates(aggregate.child, clustering ++ together(aggregate.groupingExpressions))
    case window: Window => candidates(window.child, clustering ++ together(window.partitionSpec))
    case other => other.children.flatMap(candidates(_, clustering))
  }
  private def together(keys: Seq[Expression]): Seq[AttributeSet] = if (keys.isEmpty) Nil else Seq(AttributeSet(keys))

  /** Whether a node above needs no shuffle because of a join's buckets. A split would make it shuffle. */
  private def usesBuckets(columns: AttributeSet, join: Candidate): Boolean =
    join.sides.head.keys.indices.forall(i => join.sides.exists(side => columns.exists(_.exprId == side.keys(i))))

  private def candidate(join: Join): Option[Candidate] = join match {
    case EquiJoin(left, right, _) if BroadcastSide.find(join).isEmpty =>
      for {
        l <- bucketed(left)
        r <- bucketed(right)
        sameHash = (l.buckets.version, l.buckets.types, l.buckets.count) == ((r.buckets.version, r.buckets.types, r.buckets.count))
        joined = left.columns.zip(right.columns).collect { case (Some(one), Some(other)) => one.exprId -> other.exprId }
        if sameHash && (l.buckets.hot || r.buckets.hot) && l.keys.zip(r.keys).forall(pair => joined.contains(pair))
      } yield Candidate(join, Seq(l, r))
    case _ => None
  }

  /** A side that is one bucketed scan, with nothing but deterministic projections and filters above it. */
  private def bucketed(side: JoinSide): Option[BucketedSide] = scanOf(side.plan).flatMap { relation =>
    relation.scan match {
      case scan: ParquetryScan if relation.keyGroupedPartitioning.isDefined && scan.split.isEmpty =>
        scan.buckets.filter(found => found.sizes.isInstanceOf[JObject] && found.held == found.count).map { found =>
          val ids = found.columns.map(name => relation.output.find(_.name == name).get.exprId)
          BucketedSide(relation, scan, found, ids)
        }
      case _ => None
    }
  }
  private def scanOf(plan: LogicalPlan): Option[DataSourceV2ScanRelation] = plan match {
    case relation: DataSourceV2ScanRelation => Some(relation)
    case node @ (_: Project | _: Filter) if node.expressions.forall(_.deterministic) => scanOf(node.children.head)
    case _ => None
  }

  /** Why rows of each side must not be in several tasks, or None if they may be. */
  private def reasons(join: JoinType): Seq[Option[String]] = {
    val twice = Some(s"a ${LogicalNames.of(join)} join would pass rows of the other side once a task")
    join match {
      case _: InnerLike => Seq(None, None)
      case LeftOuter | LeftSemi | LeftAnti | _: ExistenceJoin => Seq(None, twice)
      case RightOuter => Seq(twice, None)
      case _ => Seq(twice, twice)
    }
  }

  private def split(plan: LogicalPlan, found: Seq[Candidate]): LogicalPlan = {
    val decisions = found.zip(ask(found))
    plan.transformDown {
      case join: Join if decisions.exists(_._1.join eq join) =>
        val (candidate, decision) = decisions.find(_._1.join eq join).get
        val changed = candidate.sides.zipWithIndex.foldLeft[LogicalPlan](join) { case (current, (side, i)) =>
          val mode = SplitBuckets(if (decision.side.isEmpty) Nil else decision.buckets, decision.side.contains(i), decision.texts(i))
          current.transformDown {
            case relation @ ScanRelation(_, _, _, _, _) if relation eq side.relation => relation.copy(scan = side.scan.withSplit(mode))
          }
        }
        if (decision.side.isEmpty) changed else HideBuckets(changed)
    }
  }

  private def ask(found: Seq[Candidate]): Seq[SplitAnswer] = {
    def side(one: BucketedSide, reason: Option[String]): JValue = JObject(List[JField](
      "table" -> JString(one.scan.table.name()), "sizes" -> one.buckets.sizes, "least" -> JInt(one.buckets.least),
      "reason" -> reason.fold[JValue](JNull)(JString(_))))
    val cores = SparkSession.active.sparkContext.defaultParallelism
    found.head.sides.head.scan.table.ref.ask("plan_joins", "splits" -> JArray(found.map { candidate =>
      JObject("sides" -> JArray(candidate.sides.zip(reasons(candidate.join.joinType)).map { case (one, reason) => side(one, reason) }.toList),
        "cores" -> JInt(cores))
    }.toList)).as[JoinsAnswer].splits
  }
}
