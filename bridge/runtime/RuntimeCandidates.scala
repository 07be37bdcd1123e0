package org.apache.spark.sql.parquetry.runtime

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.plans.{Inner, JoinType, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.joingraph.{
  BroadcastSide, EquiJoin, JoinGraph, JoinRanges, JoinSide, KeyRangeFromFiles, KeySource, KeyTuple, LogicalNames, SharedScans, SubqueriesBesideOr}
import org.apache.spark.sql.parquetry.predicates.FieldPath
import org.apache.spark.sql.parquetry.protocol.{Bridge, CandidateFacts}

/**
 * Finds candidates for runtime filters: scans of ours that values of a join's other side could prune, with
 * the facts for the planner's verdict.
 */
class RuntimeCandidates(plan: LogicalPlan, joins: Seq[Join]) extends PredicateHelper {
  private val candidates = mutable.ArrayBuffer.empty[RuntimeCandidate]
  private val numbers = mutable.ArrayBuffer.empty[AnyRef]
  private val most = Bridge.terms.limits.joinedTables
  private val single: Seq[AnyRef] = plan.collectLeaves().collect { case r: DataSourceV2ScanRelation => r.scan: AnyRef }
    .groupBy(System.identityHashCode).values.filter(_.length == 1).map(_.head).toSeq
  private lazy val placed = plan.collect { case Filter(condition, _) => condition }
    .flatMap(_.collect { case d: DynamicPruningSubquery => d })

  private lazy val sharedScans = new SharedScans(plan)

  def all: Seq[RuntimeCandidate] = {
    joins.foreach(direct)
    plan.foreach {
      case filter: Filter => besideOr(filter)
      case _ =>
    }
    val directly = candidates.length
    roots(plan).filter(root => joins.exists(_ eq root)).foreach(narrowed)
    candidates.toSeq ++ new UnionBuildSides(sharedScans, number).of(candidates.drop(directly).toSeq)
  }

  /** The number of an object in the question to the planner. Another thread may need it for a report. */
  private def number(of: AnyRef): Int = numbers.synchronized {
    val number = numbers.indexWhere(_ eq of)
    if (number >= 0) number
    else {
      numbers += of
      numbers.length - 1
    }
  }

  /**
   * The number of a plan. Equal plans have the same number, as the keys of one join may have one plan each.
   */
  private def equal(build: LogicalPlan): Int = numbers.synchronized(number(numbers.find {
    case other: LogicalPlan => (other eq build) || other == build
    case _ => false
  }.getOrElse(build)))

  /** Adds candidates with the values of one side of a join, for the other side. */
  private def direct(join: Join): Unit = {
    val equal = join match {
      case EquiJoin(left, right, other) =>
        val broadcast = BroadcastSide.find(join).filter(_ => SQLConf.get.exchangeReuseEnabled)
        val before = candidates.length
        for (keyIndex <- left.keys.indices) {
          of(join, "left", left, right, keyIndex, broadcast.contains(BuildRight), other.exists(ofNotIn))
          of(join, "right", right, left, keyIndex, broadcast.contains(BuildLeft), other.exists(ofNotIn))
        }
        candidates ++= RuntimeTuples.ofPlanTimeValues(candidates.drop(before).filter(_.keys.nonEmpty).toSeq)
        true
      case _ => false
    }
    val conditions = join.condition.toSeq.flatMap(splitConjunctivePredicates).partition(e => equal && e.isInstanceOf[EqualTo])
    for ((side, pruned, build) <- Seq(("left", join.left, join.right), ("right", join.right, join.left))) {
      val (ranges, others) = conditions._2.partition(JoinRanges.of(_, pruned.outputSet, build.outputSet).isDefined)
      boxes(join, side, pruned, build, conditions._1, ranges, equal)
      if (!equal) // NOT IN and the like are candidates so that a report can give a reason
        for (e <- others; key <- e.references.toSeq if pruned.outputSet.contains(key))
          add(join, side, KeySource.of(key, pruned), build, Nil, 0, LogicalNames.of(e), shared = false, ofNotIn(e), equality = false,
            join.joinType)
    }
  }

  /**
   * Adds candidates with values of one side of a join that bound columns of the other side: one for each
   * scan.
   *
   * @param equalities the join's conditions on keys, which bound the same rows
   * @param ranges all other conditions that bound something
   * @param equal whether there are equalities
   */
  private def boxes(
      join: Join, side: String, pruned: LogicalPlan, build: LogicalPlan, equalities: Seq[Expression], ranges: Seq[Expression],
      equal: Boolean): Unit = {
    def sources(e: Expression) = JoinRanges.of(e, pruned.outputSet, build.outputSet).toSeq.flatMap(KeySource.of(_, pruned))
    val bound = ranges.map(e => e -> sources(e).filterNot(source =>
      // for partition columns an equality is better than a range: it is evaluated for each of their values
      equal && e.isInstanceOf[EqualNullSafe] && source.ofPartitions))
    val all = (if (bound.forall(_._2.isEmpty)) Nil else equalities.map(e => e -> sources(e))) ++ bound
    for (relation <- bound.flatMap(_._2).map(_.relation).distinctBy(System.identityHashCode)) {
      val condition = all.collect { case (e, some) if some.exists(_.relation eq relation) => e }.reduce(And(_, _))
      add(join, side, sources(condition).filter(_.relation eq relation), build, Nil, 0, LogicalNames.of(condition), shared = false,
        nullAware = false, equality = false, join.joinType)
    }
  }

  /**
   * Adds candidates with the values of subqueries beside OR, such as `day IN (SELECT …) OR x = 4`.
   */
  private def besideOr(filter: Filter): Unit =
    for (SubqueriesBesideOr(join, left, build, condition, on) <- SubqueriesBesideOr.of(filter) if joins.exists(_ eq join)) {
      val sources = JoinRanges.of(condition, left.outputSet, build.outputSet).toSeq.flatMap(KeySource.of(_, left))
      add(join, "left", sources, build, Nil, 0, LogicalNames.of(on), shared = false, nullAware = false, equality = false, LeftSemi)
    }

  private def ofNotIn(e: Expression): Boolean = e.exists { case IsNull(_: EqualTo) => true; case _ => false }

  private def of(
      join: Join, side: String, probed: JoinSide, built: JoinSide, keyIndex: Int, shared: Boolean, nullAware: Boolean): Unit = {
    val (pruned, key) = (probed.plan, probed.keys(keyIndex))
    val JoinSide(build, keys) = built
    val sources = key match {
      case column: Attribute =>
        val joined = JoinGraph.of(pruned)
        KeySource.of(column, pruned) ++ joined.closure(column).tail.flatMap(equal => joined.items.flatMap(KeySource.of(equal, _)))
      case computed =>
        val nullSafe = KeyTuple.isNullSafe(computed, probed.keys)
        KeySource.of(computed, pruned).map(_.copy(nullSafe = nullSafe))
    }
    add(join, side, sources, build, keys, keyIndex, LogicalNames.of(keys(keyIndex)), shared, nullAware, equality = true, join.joinType)
  }

  private def add(
      join: Join, side: String, sources: Seq[KeySource], build: LogicalPlan, keys: Seq[Expression], keyIndex: Int, key: String,
      shared: Boolean, nullAware: Boolean, equality: Boolean, joinType: JoinType, from: Option[LogicalPlan] = None): Unit =
    for (source <- sources if single.exists(_ eq source.scan)) {
      val outside = shared && RuntimePlacement.fromOutside(build)
      val (buildKey, ends) = (keys.lift(keyIndex), JoinRanges.extremes(source.key))
      val filterable = FieldPath.names(source.key).forall(source.scan.filterable)
      // the build side's partitions are not listed for a scan that its values could not prune
      val planTimeValues = buildKey.filter(_ => from.isEmpty && filterable && source.scan.files > 1)
        .flatMap(PlanTimeValues.of(source, _, build))
      // file statistics are about columns, not about expressions
      def rangeInFiles = buildKey.filter(_.dataType == source.key.dataType && source.form == "column" && filterable)
        .flatMap(KeyRangeFromFiles.of(_, build))
      val (statistics, report, reuses) =
        (source.scan.estimateStatistics().sizeInBytes(), source.scan.reportSoFar, SQLConf.get.exchangeReuseEnabled)
      val sparksFilter = buildKey.flatMap(spark(source.key, _))
      def facts = CandidateFacts(
        scan = number(source.relation),
        report = report,
        bytes = Option.when(statistics.isPresent)(statistics.getAsLong),
        column = if (ends.isEmpty) LogicalNames.of(source.key) else FieldPath.names(source.key).map(FieldPath.shown).mkString(", "),
        form = source.form,
        filterable = filterable,
        join = number(join),
        `type` = LogicalNames.of(joinType),
        side = side,
        steps = source.steps,
        equality = equality,
        nullAware = nullAware,
        build = RuntimeCandidate.ofBuild(build, buildKey.toSeq ++ ends.map(_.of),
          if (ends.isEmpty) key else ends.map(end => LogicalNames.of(end.of)).distinct.mkString(", "), number)
          .copy(endsOf = rangeInFiles.map(range => number(range.relation))),
        source = number(from.getOrElse(build)),
        plan = equal(build),
        tupleColumn = buildKey.flatMap(_ => KeyTuple.columnOf(source.key).map(_.name)
          .orElse(Option.when(source.ofPartitions || Set("function", "column")(source.form))(LogicalNames.of(source.key)))),
        narrowed = from.exists(!_.eq(build)),
        shared = shared && !outside,
        outside = outside,
        readOnce = reuses && sharedScans.breaksReuse(source.relation, join),
        known = planTimeValues.map(_.facts),
        held = Some(source).filterNot(_.scan.isEstimated).flatMap(PlanTimeValues.held).map(_.size),
        placed = sparksFilter.map(d => if (d.onlyInBroadcast) "shared" else "always"))
      val valuesOf = buildKey.map(KeySource.of(_, build)).collect { case Seq(one) => one.scan }
      candidates += RuntimeCandidate(join, source, ValueSource(build, keys, keyIndex), shared && !outside, planTimeValues, valuesOf, sparksFilter,
        RuntimeCandidate.mayGain(source, filterable), new LaterFacts(facts))
    }

  /** Spark's own filter of a column by a key, if there is one. */
  private def spark(column: Expression, key: Expression): Option[DynamicPruningSubquery] =
    placed.find(d => d.pruningKey.semanticEquals(column) &&
      d.broadcastKeyIndices.map(d.buildKeys).exists(_.semanticEquals(key)))

  /** The topmost join of each group of inner joins. */
  private def roots(plan: LogicalPlan): Seq[Join] = plan match {
    case join: Join =>
      val joined = JoinGraph.of(join)
      val parts = if (joined.items.exists(_ eq join)) join.children else joined.items ++ joined.apart
      parts.flatMap(roots) :+ join
    case other => other.children.flatMap(roots)
  }

  /**
   * Adds candidates with narrowed build sides: only their rows with matches in other tables of the group
   * remain.
   */
  private def narrowed(root: Join): Unit = {
    val joined = JoinGraph.of(root)
    for {
      (a, b) <- if (joined.items.length > 2 && joined.items.length <= most) joined.equal else Nil
      (column, key) <- Seq(a -> b, b -> a)
      pruned <- joined.items.find(_.outputSet.contains(column))
      item <- joined.items.find(_.outputSet.contains(key)) if !(item eq pruned)
      build <- joined.narrowed(item, key, pruned) ++ Some(item).filter(JoinGraph.selective)
    } narrowed(root, Inner, "inner", KeySource.of(column, pruned), build, key, item)
    for {
      join <- if (joined.items.length <= most) joined.beside else Nil
      (a, b) <- JoinGraph.equalities(join)
      (column, key) <- Seq(a -> b, b -> a)
      (side, pruned) <- Seq("left" -> join.left, "right" -> join.right).filter(one => joined.apart.exists(_ eq one._2))
      if pruned.outputSet.contains(column)
      item <- joined.items.find(_.outputSet.contains(key))
      build <- joined.narrowed(item, key, pruned)
    } narrowed(join, join.joinType, side, KeySource.of(column, pruned), build, key, item)
  }

  private def narrowed(
      join: Join, joinType: JoinType, side: String, sources: Seq[KeySource], build: LogicalPlan, key: Attribute, item: LogicalPlan): Unit =
    add(join, side, sources, build, Seq(key), 0, LogicalNames.of(key), shared = false, nullAware = false, equality = true,
      joinType, from = Some(item))
}
