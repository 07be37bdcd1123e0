package org.apache.spark.sql.parquetry.buckets

import org.json4s._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Alias, BoundReference, DynamicPruningSubquery, Expression, ScalarSubquery}
import org.apache.spark.sql.catalyst.plans.FullOuter
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project, Subquery, Union}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.{TreeNodeTag, TreePattern}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.joingraph.{BroadcastSide, EquiJoin, JoinSide}
import org.apache.spark.sql.parquetry.protocol.JoinsAnswer
import org.apache.spark.sql.parquetry.scan.ParquetryScan

/**
 * Reads tables in place, bucket by bucket, for joins that Spark would shuffle whole: with a side that is in
 * no buckets, in others, or in buckets only in part. Spark then shuffles what is not in these buckets, and
 * that alone, by the hash of the files (`BucketPartitioning`).
 *
 * {{{
 * bucketed ⋈ unbucketed                one old partition of ten without buckets
 *
 * SortMergeJoin                        SortMergeJoin
 * ├ InBuckets                          ├ ZipBuckets
 * │   scan, bucket i in partition i    │ ├ InBuckets
 * └ Exchange buckets(…)                │ │   scan of nine partitions
 *     scan                             │ └ Exchange buckets(…)
 *                                      │     scan of the old one
 *                                      └ …
 * }}}
 *
 * The planner decides which scans are read so, and in how many buckets (`joins/placement.py`); this rule
 * finds the joins, and asks once for all joins of a plan. Joins that Spark itself does without a shuffle are
 * left to it.
 */
object JoinInBuckets extends Rule[LogicalPlan] {
  /** Marks joins that the planner has decided about. */
  private val decided = TreeNodeTag[Boolean]("parquetry.placed")

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _: Subquery => plan // comes again as part of its query
    case _ if !conf.v2BucketingEnabled || plan.isStreaming => plan
    case _ => inSubqueries(if (plan.containsPattern(TreePattern.JOIN)) inQuery(plan) else plan)
  }

  /** Changes the joins of scalar subqueries: all others have become joins of the query. */
  private def inSubqueries(plan: LogicalPlan): LogicalPlan =
    plan.transformAllExpressionsWithPruning(_.containsPattern(TreePattern.SCALAR_SUBQUERY)) {
      case scalar: ScalarSubquery if scalar.outerAttrs.isEmpty =>
        val other = apply(scalar.plan)
        if (other eq scalar.plan) scalar else scalar.withNewPlan(other)
    }

  private def inQuery(plan: LogicalPlan): LogicalPlan = {
    val joins = plan.collect { case join: Join if BroadcastSide.find(join).isEmpty => join }
    val byBuckets = if (joins.forall(_.getTagValue(decided).isDefined)) Nil else joins.reverse.flatMap {
      case EquiJoin(left, right, _) => Some(PlacedJoin(left, right)).filter(_.sources.nonEmpty)
      case _ => None
    }
    joins.foreach(_.setTagValue(decided, true))
    if (byBuckets.isEmpty) plan else changed(plan, byBuckets)
  }

  private case class PlacedJoin(left: JoinSide, right: JoinSide) {
    val (lefts, rights) = (BucketSources.of(left), BucketSources.of(right))
    def sources: Seq[BucketSource] = lefts ++ rights
    /** The scans of both sides whose rows meet in the same buckets. */
    val pairs: Seq[(BucketSource, BucketSource)] = for (l <- lefts; r <- rights if l.hashesAs(r)) yield l -> r
  }

  private def changed(plan: LogicalPlan, joins: Seq[PlacedJoin]): LogicalPlan = {
    val sources = joins.flatMap(_.sources).distinctBy(source => System.identityHashCode(source.relation))
    val counts = ask(sources, joins)
    val placed = sources.zip(counts).collect { case (source, count) if count > 0 => source -> count.toInt }
    if (placed.isEmpty) plan else afterFullJoins(new InPlace(placed)(plan))
  }

  /** Has the rows of FULL joins keep their buckets: for Spark, they are in none. */
  private def afterFullJoins(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case join: Join if join.joinType == FullOuter && BroadcastSide.find(join).isEmpty && EquiJoin.unapply(join).isDefined &&
        join.exists(node => node.isInstanceOf[InBuckets]) => StayInBuckets(join)
  }

  private def ask(sources: Seq[BucketSource], joins: Seq[PlacedJoin]): Seq[Long] = {
    def index(source: BucketSource): JValue = JInt(sources.indexWhere(_.relation eq source.relation))
    def side(of: JoinSide, some: Seq[BucketSource]): JValue =
      JObject("bytes" -> JInt(of.plan.stats.sizeInBytes), "scans" -> JArray(some.map(index).toList))
    val catalog = sources.map(_.relation.scan).collectFirst { case scan: ParquetryScan => scan.table.ref }.get
    catalog.ask("plan_joins", "placement" -> JObject(
      "scans" -> JArray(sources.map(source => JObject(
        "count" -> JInt(source.buckets.count), "larger" -> JBool(source.buckets.larger),
        "bytes" -> JInt(BigInt(source.relation.scan.asInstanceOf[ParquetryScan].bytes) - source.buckets.outside),
        "outside" -> JInt(source.buckets.outside))).toList),
      "unions" -> JArray(sources.filter(_.beside.nonEmpty).map(source =>
        JArray(source.beside.map(one => JInt(sources.indexWhere(_.relation eq one))).toList)).toList),
      "joins" -> JArray(joins.map(join => JObject(
        "left" -> side(join.left, join.lefts), "right" -> side(join.right, join.rights),
        "pairs" -> JArray(join.pairs.map { case (l, r) => JArray(List(index(l), index(r), JBool(solved(join, l, r)))) }.toList))).toList),
      "cores" -> JInt(SparkSession.active.sparkContext.defaultParallelism),
      "partitions" -> JInt(conf.numShufflePartitions))).as[JoinsAnswer].inPlace
  }

  /**
   * Whether Spark itself joins two scans without a shuffle, perhaps after `AgreeOnBucketCounts`: some of its
   * settings prevent this.
   */
  private def solved(join: PlacedJoin, one: BucketSource, other: BucketSource): Boolean =
    conf.v2BucketingPushPartValuesEnabled &&
      (!conf.getConf(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_CO_PARTITION) || one.columns.length == join.left.keys.length) &&
      one.buckets.types == other.buckets.types && (one.buckets.count == other.buckets.count ||
        (conf.v2BucketingAllowCompatibleTransforms && !conf.v2BucketingPartiallyClusteredDistributionEnabled)) &&
      Seq(one, other).forall(each => each.plain && each.relation.keyGroupedPartitioning.isDefined && each.buckets.outside == 0)
}

/** Puts scans that are read in place into a plan, and into the plans of its runtime filters alike. */
private class InPlace(placed: Seq[(BucketSource, Int)]) {
  private val unions = if (InPlace.zipsUnions) Nil else placed.flatMap(_._1.unions)

  def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case union: Union if unions.exists(_._1 eq union) =>
      val keys = unions.find(_._1 eq union).get._2
      val known = keys.head.indices.filter(i => keys.zip(union.children).forall { case (own, child) => own(i).references.subsetOf(child.outputSet) })
      ZippedUnion(keys.map(own => known.map(own)), union.mapChildren(apply))
    case Scanned(relation) if of(relation).isDefined => inPlace(plan, relation, of(relation).get)
    case project: Project => computed(values(project.mapChildren(apply)).asInstanceOf[Project])
    case other => values(other.mapChildren(apply))
  }

  /**
   * A projection above a scan in buckets. If it drops a bucket column, the bucket may follow from what it
   * computes of that column.
   */
  private def computed(project: Project): LogicalPlan = buckets(project.child).filterNot(_._2.forall(isPlain(_, project))).flatMap {
    case (layout, columns) =>
      val keys = project.projectList.map { case Alias(value, _) => value; case column => column }
      val forms = columns.zip(layout.types).map { case (column, raw) => KeyForms.of(column, raw, layout.version, keys).headOption }
      Option.when(forms.forall(_.isDefined))(ComputedBuckets(layout, forms.flatten.map(_.transform {
        case key: BoundReference => project.output(key.ordinal)
      }), project))
  }.getOrElse(project)

  private def isPlain(column: Expression, project: Project): Boolean = project.projectList.exists {
    case Alias(value, _) => value.semanticEquals(column)
    case same => same.semanticEquals(column)
  }

  /** The buckets of a scan below projections and filters, by expressions of the plan's output. */
  private def buckets(plan: LogicalPlan): Option[(BucketLayout, Seq[Expression])] = plan match {
    case InBuckets(layout, columns, _) => Some(layout -> columns)
    case ComputedBuckets(layout, columns, _) => Some(layout -> columns)
    case ZipBuckets(_, children) => buckets(children.head)
    case Filter(_, child) => buckets(child)
    case Project(_, child) => buckets(child).filter(_._2.forall(_.references.subsetOf(plan.outputSet)))
    case _ => None
  }

  private def of(relation: DataSourceV2ScanRelation): Option[(BucketSource, Int)] =
    placed.find(_._1.relation.scan eq relation.scan)

  /** A scan below conditions that are evaluated where its rows are. */
  private object Scanned {
    def unapply(plan: LogicalPlan): Option[DataSourceV2ScanRelation] = plan match {
      case relation: DataSourceV2ScanRelation => Some(relation)
      case Filter(condition, child) if condition.deterministic => unapply(child)
      case _ => None
    }
  }

  private def inPlace(plan: LogicalPlan, relation: DataSourceV2ScanRelation, source: (BucketSource, Int)): LogicalPlan = {
    val (buckets, count) = (source._1.buckets, source._2)
    val scan = relation.scan.asInstanceOf[ParquetryScan]
    scan.inPlace(count).fold(plan) { found =>
      val layout = BucketLayout(buckets.version, count, source._1.types)
      val columns = buckets.columns.flatMap(name => relation.output.find(_.name == name))
      def reading(part: ParquetryScan): LogicalPlan = plan.transformUp {
        case same: DataSourceV2ScanRelation if same.scan eq scan =>
          same.copy(scan = part, keyGroupedPartitioning = None, ordering = same.ordering.filter(_ => part.isSortedInPlace))
        case filter => values(filter)
      }
      val inside = InBuckets(layout, columns, reading(found))
      found.besideBuckets.fold[LogicalPlan](inside)(beside => ZipBuckets(columns, Seq(inside, reading(beside))))
    }
  }

  /** A node whose runtime filters take their values from plans that are read in place, too. */
  private def values(node: LogicalPlan): LogicalPlan = node match {
    case filter @ Filter(condition, _) if condition.exists(_.isInstanceOf[DynamicPruningSubquery]) =>
      filter.copy(condition = condition.transform { case sparks: DynamicPruningSubquery => sparks.withNewPlan(apply(sparks.plan)) })
    case other => other
  }
}

private object InPlace {
  /** Whether Spark reads partition i of all plans of a UNION ALL in one task: Spark 4.0 does not. */
  def zipsUnions: Boolean = {
    val setting = "spark.sql.unionOutputPartitioning"
    SQLConf.containsConfigKey(setting) && SQLConf.get.getConfString(setting).toBoolean
  }
}
