package org.apache.spark.sql.parquetry.rowlayout

import org.json4s._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, MergeRows}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.joingraph.{BroadcastSide, EquiJoin, JoinSide}
import org.apache.spark.sql.parquetry.protocol.{BucketsAnswer, JoinsAnswer}
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.Bucketing

/**
 * A join whose sides are not broadcast.
 *
 * @param lefts the scans of the left side whose rows are in buckets by its keys
 * @param hot scans that it joins in the same buckets, if some of these are hot and may be split
 */
case class GraphJoin(join: Join, left: JoinSide, right: JoinSide, lefts: Seq[KeyedSource], rights: Seq[KeyedSource], hot: Seq[Member]) {
  def sources: Seq[Source] = (lefts ++ rights).map(_.source)
  /** The scans of both sides whose rows meet in the same buckets, if they are read in place. */
  val pairs: Seq[(KeyedSource, KeyedSource)] = for (l <- lefts; r <- rights if l.source.hasFiles && r.source.hasFiles && l.meets(r)) yield l -> r
  /** The first scans of both sides that Spark knows to be in buckets of one hash. */
  val reported: Option[(KeyedSource, KeyedSource)] = (for (l <- lefts; r <- rights if l.meetsPlainly(r)) yield l -> r).headOption
}

/**
 * The joins of a plan with a side in buckets, and their scans, for a question to the planner. It decides in
 * how many buckets they are joined, whether in place, and which hot buckets several tasks read
 * (`joins/plan/decide.py`).
 *
 * @param joins each after the joins below it
 */
class PlanGraph(val joins: Seq[GraphJoin], val layouts: RowLayouts, conf: SQLConf) {
  /** The scans that joins read, and scans in the same buckets as one of them. */
  val scans: Seq[DataSourceV2ScanRelation] = joins.flatMap(join => join.sources.flatMap(source => source.relation +: source.members.map(_.relation)) ++
    join.sources.flatMap(_.beside) ++ join.hot.map(_.relation)).distinctBy(System.identityHashCode)

  /** Whether the planner may change something: Spark alone joins all sides in the buckets that they have. */
  def isWorthAsking: Boolean = joins.exists(join => join.hot.nonEmpty || !join.pairs.exists { case (l, r) =>
    solved(join, l, r) && l.source.buckets.map(_.count) == r.source.buckets.map(_.count)
  })

  def ask(): JoinsAnswer = scans.map(_.scan).collectFirst { case scan: ParquetryScan => scan.table.ref }.get
    .ask("plan_joins", "graph" -> JObject(
      "scans" -> JArray(scans.map(described).toList),
      "joins" -> JArray(joins.map(described).toList),
      "unions" -> JArray(joins.flatMap(_.sources).filter(_.beside.nonEmpty).map(source => JArray(source.beside.map(index).toList)).distinct.toList),
      "cores" -> JInt(SparkSession.active.sparkContext.defaultParallelism),
      "partitions" -> JInt(conf.numShufflePartitions),
      "foldable" -> JBool(Bucketing.reduces))).as[JoinsAnswer]

  private def index(relation: DataSourceV2ScanRelation): JValue = JInt(scans.indexWhere(_ eq relation))

  private def described(relation: DataSourceV2ScanRelation): JValue = {
    val scan = relation.scan.asInstanceOf[ParquetryScan]
    val buckets = scan.bucketsInPlace.get
    val isHot = joins.exists(_.hot.exists(_.relation eq relation))
    JObject(
      "table" -> JString(scan.table.name()), "count" -> JInt(buckets.count), "held" -> JInt(buckets.held), "larger" -> JBool(buckets.larger),
      "ordered" -> JBool(buckets.order.nonEmpty), "bytes" -> JInt(BigInt(scan.bytes) - buckets.outside), "outside" -> JInt(buckets.outside),
      "sizes" -> (if (isHot) buckets.sizes else JNull), "least" -> JInt(buckets.least))
  }

  private def described(join: GraphJoin): JValue = {
    def side(of: JoinSide, sources: Seq[KeyedSource], reported: Option[KeyedSource]): JValue = JObject(
      "bytes" -> JInt(of.plan.stats.sizeInBytes),
      "scans" -> JArray(sources.filter(_.source.hasFiles).map(one => index(one.source.relation)).toList),
      "reported" -> JArray(reported.toList.flatMap(first => sameHash(first.source))))
    JObject(
      "columns" -> JInt(join.reported.fold(0)(_._1.forms.length)),
      "left" -> side(join.left, join.lefts, join.reported.map(_._1)), "right" -> side(join.right, join.rights, join.reported.map(_._2)),
      "pairs" -> JArray(join.pairs.map { case (l, r) => JArray(List(index(l.source.relation), index(r.source.relation), JBool(solved(join, l, r)))) }.toList),
      "hot" -> JArray(join.hot.map(one => JObject("scan" -> index(one.relation), "whole" -> one.whole.fold[JValue](JNull)(JString(_)))).toList))
  }

  /** A scan, and the scans that are in its buckets by a join below. */
  private def sameHash(source: Source): Seq[JValue] = (source.relation +: source.members.map(_.relation).filterNot(_ eq source.relation)).map(index)

  /**
   * Whether Spark itself joins two scans without a shuffle if they have one number of buckets. Some settings
   * prevent this.
   */
  private def solved(join: GraphJoin, one: KeyedSource, other: KeyedSource): Boolean =
    conf.v2BucketingPushPartValuesEnabled &&
      (!conf.getConf(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_CO_PARTITION) || one.forms.length == join.left.keys.length) &&
      one.source.buckets.map(_.types) == other.source.buckets.map(_.types) &&
      (one.source.buckets.map(_.count) == other.source.buckets.map(_.count) ||
        (conf.v2BucketingAllowCompatibleTransforms && !conf.v2BucketingPartiallyClusteredDistributionEnabled)) &&
      Seq(one, other).forall(each => each.isPlain && each.source.reported.isDefined && each.source.buckets.exists(_.outside == 0))
}

object PlanGraph {
  def of(plan: LogicalPlan, conf: SQLConf): PlanGraph = {
    val layouts = new RowLayouts
    val hot = if (splitsBuckets(conf)) new HotJoins(layouts).of(plan, Nil) else Nil
    val joins = Seq.newBuilder[GraphJoin]
    plan.foreachUp {
      case join @ EquiJoin(left, right, _) if BroadcastSide.find(join).isEmpty =>
        val one = GraphJoin(join, left, right, layouts.of(left), layouts.of(right), hot.find(_._1 eq join).toSeq.flatMap(_._2))
        if (one.sources.nonEmpty) joins += one
      case _ =>
    }
    new PlanGraph(joins.result(), layouts, conf)
  }

  /** Whether Spark's settings have it join buckets by their keys alone, and shuffle both sides or none. */
  private def splitsBuckets(conf: SQLConf): Boolean = conf.v2BucketingEnabled && conf.v2BucketingPushPartValuesEnabled &&
    !conf.v2BucketingShuffleEnabled && !conf.v2BucketingPartiallyClusteredDistributionEnabled
}

/**
 * Finds the joins whose hot buckets may be split. All scans below such a join are in the same buckets. So
 * each task of a bucket can have a part of the rows of one scan, and all rows of the others.
 */
private class HotJoins(layouts: RowLayouts) {
  /**
   * The joins of a plan, each with all its scans.
   *
   * @param used scans with buckets that a node above uses: a split would make it shuffle
   */
  def of(plan: LogicalPlan, used: Seq[DataSourceV2ScanRelation]): Seq[(Join, Seq[Member])] = plan match {
    case _: HideBuckets | _: MergeRows => Nil // a MERGE finds rows with several matches within a task
    case join: Join => members(join).filterNot(_.exists(member => used.exists(_ eq member.relation))) match {
      case Some(found) => Seq(join -> found)
      case None => join.children.flatMap(of(_, used ++ usedBy(join)))
    }
    case other => other.children.flatMap(of(_, used ++ usedBy(other)))
  }

  private def usedBy(node: LogicalPlan): Seq[DataSourceV2ScanRelation] = (Movement.of(node) match {
    case Movement.Gathers(keys, _) => layouts.of(node.children.head).flatMap(_.by(keys))
    case Movement.Joins(_, Some((left, right)), None) => layouts.of(left) ++ layouts.of(right)
    case _ => Nil
  }).flatMap(_.source.members.map(_.relation))

  private def members(join: Join): Option[Seq[Member]] = join match {
    case EquiJoin(left, right, _) if BroadcastSide.find(join).isEmpty && join.condition.forall(_.deterministic) =>
      val Seq(wholeLeft, wholeRight) = RowLayouts.wholeIn(join.joinType)
      val leaves = join.collectLeaves()
      (for (l <- layouts.of(left); r <- layouts.of(right) if l.meetsPlainly(r)) yield
        l.source.keptWhole(wholeLeft).members ++ r.source.keptWhole(wholeRight).members)
        .find(members => members.length == leaves.length && members.forall(_.repeatable) && members.exists(member => reported(member).exists(_.hot)) &&
          members.map(reported(_).map(found => (found.version, found.types, found.count))).distinct.length == 1 && members.forall(isCounted))
    case _ => None
  }

  private def reported(member: Member): Option[BucketsAnswer] = member.relation.scan match {
    case scan: ParquetryScan if member.relation.keyGroupedPartitioning.isDefined && scan.split.isEmpty => scan.buckets
    case _ => None
  }
  private def isCounted(member: Member): Boolean =
    reported(member).exists(found => found.sizes.isInstanceOf[JObject] && found.held == found.count)
}
