package org.apache.spark.sql.parquetry.splitting

import org.json4s._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, ExprId, Expression}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.joingraph.{BroadcastSide, EquiJoin, JoinSide, LogicalNames}
import org.apache.spark.sql.parquetry.protocol.{BucketsAnswer, JoinsAnswer, SplitAnswer}
import org.apache.spark.sql.parquetry.scan.{ParquetryScan, SplitBuckets}
import org.apache.spark.sql.parquetry.versions.ScanRelation
import org.apache.spark.sql.types.DataType

/**
 * Has several tasks read a hot bucket of a join. The planner decides which, and says why
 * (`joins/bucket_splits.py`); this rule finds the joins where that is right.
 *
 * Spark zips the partitions of both sides that have equal keys. So each task of a hot bucket gets a key of
 * its own, a number above the buckets' numbers. One scan has a part of the bucket's rows there, all other
 * scans have all of the bucket. Above the join, equal keys are in several tasks, which `HideBuckets` keeps
 * from Spark.
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

  private case class Candidate(join: Join, scans: Seq[BucketedScan])
  /** @param whole why rows of a bucket must not be in several tasks, or None if they may be */
  private case class BucketedScan(relation: DataSourceV2ScanRelation, scan: ParquetryScan, buckets: BucketsAnswer, keys: Seq[ExprId],
      whole: Option[String] = None) {
    def hash: (String, Seq[DataType], Int) = (buckets.version, buckets.types, buckets.count)
    def keptWhole(reason: Option[String]): BucketedScan = if (whole.isEmpty) copy(whole = reason) else this
  }

  /**
   * The joins of a plan that may have hot buckets, each with all joins below it in the same buckets.
   *
   * @param clustering for each node above, the columns that it wants rows together by
   */
  private def candidates(plan: LogicalPlan, clustering: Seq[AttributeSet]): Seq[Candidate] = plan match {
    case _: HideBuckets | _: MergeRows => Nil // a MERGE finds rows with several matches within a task
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
    join.scans.head.keys.indices.forall(i => join.scans.exists(scan => columns.exists(_.exprId == scan.keys(i))))

  private def candidate(join: Join): Option[Candidate] =
    scansOf(join).filter(scans => scans.exists(scan => scan.buckets.hot)).map(Candidate(join, _))

  /** The scans of a plan that joins them in the same buckets, or None if Spark has to move rows in it. */
  private def scansOf(plan: LogicalPlan): Option[Seq[BucketedScan]] = plan match {
    case relation: DataSourceV2ScanRelation => bucketed(relation).map(Seq(_))
    case node @ (_: Project | _: Filter) if node.expressions.forall(_.deterministic) => scansOf(node.children.head)
    case Aggregate(keys, results, child, _) if keys.nonEmpty && results.forall(_.deterministic) =>
      scansOf(child).map(_.map(_.keptWhole(Some("rows of the bucket are grouped before the join"))))
    case join @ EquiJoin(left, right, _) if BroadcastSide.find(join).isEmpty && join.condition.forall(_.deterministic) =>
      val Seq(leftReason, rightReason) = reasons(join.joinType)
      for {
        l <- scansOf(left.plan)
        r <- scansOf(right.plan)
        if (l ++ r).map(_.hash).distinct.length == 1 && joinsBuckets(left, l, right, r)
      } yield l.map(_.keptWhole(leftReason)) ++ r.map(_.keptWhole(rightReason))
    case _ => None
  }

  /** Whether both sides are joined by all their bucket columns. */
  private def joinsBuckets(left: JoinSide, leftScans: Seq[BucketedScan], right: JoinSide, rightScans: Seq[BucketedScan]): Boolean =
    leftScans.head.keys.indices.forall(i => columns(left).zip(columns(right)).exists { case (l, r) =>
      leftScans.exists(scan => l.contains(scan.keys(i))) && rightScans.exists(scan => r.contains(scan.keys(i)))
    })
  private def columns(side: JoinSide): Seq[Option[ExprId]] = side.keys.zip(side.columns).map {
    case (_, Some(column)) => Some(column.exprId)
    case (key: Attribute, None) => Some(key.exprId) // of an aggregate
    case _ => None
  }

  private def bucketed(relation: DataSourceV2ScanRelation): Option[BucketedScan] = relation.scan match {
    case scan: ParquetryScan if relation.keyGroupedPartitioning.isDefined && scan.split.isEmpty =>
      scan.buckets.filter(found => found.sizes.isInstanceOf[JObject] && found.held == found.count).map { found =>
        BucketedScan(relation, scan, found, found.columns.map(name => relation.output.find(_.name == name).get.exprId))
      }
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
        val changed = candidate.scans.zipWithIndex.foldLeft[LogicalPlan](join) { case (current, (scan, i)) =>
          val mode = SplitBuckets(if (decision.side.isEmpty) Nil else decision.buckets, decision.side.contains(i), decision.texts(i))
          current.transformDown {
            case relation @ ScanRelation(_, _, _, _, _) if relation eq scan.relation => relation.copy(scan = scan.scan.withSplit(mode))
          }
        }
        if (decision.side.isEmpty) changed else HideBuckets(changed)
    }
  }

  private def ask(found: Seq[Candidate]): Seq[SplitAnswer] = {
    def side(one: BucketedScan): JValue = JObject(List[JField](
      "table" -> JString(one.scan.table.name()), "sizes" -> one.buckets.sizes, "least" -> JInt(one.buckets.least),
      "reason" -> one.whole.fold[JValue](JNull)(JString(_))))
    val cores = SparkSession.active.sparkContext.defaultParallelism
    found.head.scans.head.scan.table.ref.ask("plan_joins", "splits" -> JArray(found.map { candidate =>
      JObject("sides" -> JArray(candidate.scans.map(side).toList), "cores" -> JInt(cores))
    }.toList)).as[JoinsAnswer].splits
  }
}
