package org.apache.spark.sql.parquetry.runtime

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.joingraph.{
  JoinRanges, KeyRangeFromFiles, KeySource, KeyTuple, Lineage, LogicalNames, PruneBuildColumns}
import org.apache.spark.sql.parquetry.protocol.{Bridge, BuildFacts, CandidateFacts, PartFacts}
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.{PruningSubquery, ScanRelation}

/**
 * A plan whose rows give the values of a runtime filter.
 *
 * @param keys expressions of its columns, such as a join's keys on its build side, in order, as a broadcast
 *   has them; empty if the scan's key is a range
 * @param keyIndex index in `keys` of the key that gives the values
 */
case class ValueSource(build: LogicalPlan, keys: Seq[Expression], keyIndex: Int)

/**
 * A candidate for a runtime filter: a scan of ours, the probe side, and a join's build side, whose values
 * could prune the scan.
 *
 * @param source the scan, and the join key in its columns
 * @param values the join's build side, and its keys
 * @param shared whether Spark will broadcast `build` for the join, and find that broadcast for the filter
 * @param planTimeValues plan-time values, if there are any
 * @param valuesOf the only scan of ours that the values come from, if there is one
 * @param sparksFilter Spark's own filter by the same values, if there is one
 * @param mayGain whether the planner is asked: values could prune something, or the planner has to decide for
 *   another reason
 * @param laterFacts for the planner's verdict; see `facts`
 */
case class RuntimeCandidate(
    join: Join, source: KeySource, values: ValueSource, shared: Boolean, planTimeValues: Option[PlanTimeValues],
    valuesOf: Option[ParquetryScan], sparksFilter: Option[DynamicPruningSubquery], mayGain: Boolean, laterFacts: LaterFacts) {
  /** The facts for the planner. Facts about a candidate without a gain are gathered only for a report. */
  def facts: CandidateFacts = laterFacts.all
  /** The same candidate with other facts. The planner decides about all candidates of a group. */
  def withFacts(changed: CandidateFacts): RuntimeCandidate =
    copy(mayGain = mayGain || changed.together.isDefined, laterFacts = new LaterFacts(changed))
  def build: LogicalPlan = values.build
  def keys: Seq[Expression] = values.keys
  /** The key that gives the values. */
  def buildKey: Expression = keys(values.keyIndex)

  /** The column of the scan, as SQL. */
  def column: String = LogicalNames.of(source.key)

  /** The ids of the subqueries that give the values: the first, or two for the ends of a range. */
  val exprIds: Seq[ExprId] = Seq.fill(2)(NamedExpression.newExprId)

  /**
   * The filter. A plan that runs only for its values reads only their columns, and in one task: Spark takes
   * each distinct value once, and with several tasks it would shuffle for this.
   *
   * @param runsAlone whether `build` runs only for its values, although there is a broadcast of it
   */
  def filter(build: LogicalPlan, onlyShared: Boolean, runsAlone: Boolean): Expression = source.widened match {
    case _ if keys.isEmpty => JoinRanges.filter(source.key, build, exprIds.head)
    case Some((column, back)) =>
      // a value that the column's type does not have becomes NULL, which Spark leaves out
      val value = Alias(back(buildKey), "value")()
      subquery(column, onlyForValues(Project(Seq(value), build), Seq(value.toAttribute)), onlyShared = false)
    case None if shared && !runsAlone => subquery(source.key, values.copy(build = build), onlyShared)
    case None =>
      val (key, wanted) = source.key match {
        case tuple: KeyTuple => (tuple.copy(places = tuple.places.indices), tuple.places.map(keys))
        case one => (one, Seq(buildKey))
      }
      subquery(key, onlyForValues(build, wanted), onlyShared)
  }

  /** Whether a filter of Spark's own has the same values for the same column. */
  def isOf(filter: DynamicPruningSubquery): Boolean = filter.pruningKey.semanticEquals(source.key) &&
    filter.broadcastKeyIndices.map(filter.buildKeys).exists(key => keys.lift(values.keyIndex).exists(_.semanticEquals(key)))

  /** The filter by the minimum and maximum of the values in file statistics. */
  def betweenEnds(build: LogicalPlan): Expression =
    KeyRangeFromFiles.of(buildKey, build).fold[Expression](Literal.TrueLiteral)(ends => PruningSubquery.between(ends.filter(source.key, exprIds)))

  /** A plan that runs only for the values of some keys. */
  private def onlyForValues(build: LogicalPlan, keys: Seq[Expression]): ValueSource = ValueSource(
    Repartition(1, shuffle = false, PruneBuildColumns.of(build, AttributeSet.fromAttributeSets(keys.map(_.references)))), keys, 0)

  private def subquery(key: Expression, from: ValueSource, onlyShared: Boolean) =
    PruningSubquery(key, from.build, from.keys, from.keyIndex, onlyShared, exprIds.head)
}

/** Facts that are gathered on first use. */
class LaterFacts(gather: => CandidateFacts) {
  lazy val all: CandidateFacts = gather
}

object RuntimeCandidate extends PredicateHelper {
  /**
   * Whether the planner's verdict can be anything but a refusal. It refuses a column if it knows nothing of
   * the column's values in files. It still decides about keys that it may understand, and if settings are the
   * reason.
   */
  def mayGain(source: KeySource, filterable: Boolean): Boolean =
    filterable || source.form != "column" || !source.scan.takesRuntimeValues

  /**
   * Facts about a build side.
   *
   * @param text the keys as SQL
   * @param number returns the number of a scan
   */
  def ofBuild(build: LogicalPlan, keys: Seq[Expression], text: String, number: AnyRef => Int): BuildFacts = BuildFacts(
    name = LogicalNames.of(build),
    where = conditions(build),
    whole = whole(build),
    key = text,
    size = Some(build.stats.sizeInBytes).filter(_ < unknown),
    cost = build.collectLeaves().map(cost).foldLeft[Option[BigInt]](Some(0)) {
      case (Some(sum), Some(more)) => Some(sum + more)
      case _ => None
    },
    files = build.collectLeaves().map(files).sum,
    deterministic = build.deterministic && keys.forall(_.deterministic),
    python = keys.exists(python(_, build)),
    unrepeatable = unrepeatable(build),
    parts = build.collectLeaves().collect {
      case relation @ ScanRelation(_, scan: ParquetryScan, _, _, _) =>
        PartFacts(number(relation), relation.stats.sizeInBytes, scan.files)
    })

  /**
   * The query's conditions on the tables of a plan, as SQL: Spark applies some, and our scans decide the
   * others.
   */
  private def conditions(plan: LogicalPlan): Seq[String] = plan.collect {
    case Filter(condition, _) => splitConjunctivePredicates(condition).collect {
      case e if !e.isInstanceOf[IsNotNull] && !e.exists(_.isInstanceOf[DynamicPruning]) => LogicalNames.of(e)
    }
    case ScanRelation(_, scan: ParquetryScan, _, _, _) => scan.decided
  }.flatten.distinct

  /** Whether a plan gives all rows of one scan of ours, except rows with NULL. */
  private def whole(plan: LogicalPlan): Boolean = plan match {
    case project: Project => whole(project.child)
    case Filter(condition, child) => splitConjunctivePredicates(condition).forall(_.isInstanceOf[IsNotNull]) && whole(child)
    case ScanRelation(_, _: ParquetryScan, _, _, _) => true
    case _ => false
  }

  private def unknown: BigInt = SQLConf.get.defaultSizeInBytes

  /** The cost of reading a leaf once more, in bytes, or None if it is not known. */
  private def cost(leaf: LogicalPlan): Option[BigInt] = leaf match {
    case cached: InMemoryRelation if cached.cacheBuilder.storageLevel.useMemory =>
      Some(cached.stats.sizeInBytes / Bridge.terms.limits.cachedBytesRead)
    case _: LocalRelation | _: OneRowRelation => Some(0)
    case other => Some(other.stats.sizeInBytes).filter(_ < unknown)
  }

  /** The number of files that reading a leaf opens; 1 if it is not known. */
  private def files(leaf: LogicalPlan): Int = leaf match {
    case ScanRelation(_, scan: ParquetryScan, _, _, _) => scan.files
    case _: LocalRelation | _: OneRowRelation | _: InMemoryRelation => 0
    case _ => 1
  }

  /** Whether Python computes a key: its results may differ in a second run. */
  private def python(key: Expression, plan: LogicalPlan): Boolean = key.exists(_.isInstanceOf[PythonFuncExpression]) ||
    key.references.exists(column => Lineage.below(column, plan).exists { case (below, child) => python(below, child) })

  /** The first non-deterministic node of a plan, if there is one: it may give other rows in a second run. */
  private def unrepeatable(plan: LogicalPlan): Option[String] = plan.collectFirst {
    case limit @ (_: GlobalLimit | _: LocalLimit | _: Offset | _: Tail | _: Sample) => limit.nodeName
    case node if node.containsPattern(TreePattern.PYTHON_UDF) || node.expressions.exists(_.exists(opaque)) => "a user's function"
    case rdd: LogicalRDD if !rdd.rdd.isCheckpointed => "an RDD"
    case relation: LogicalRelation if !relation.relation.isInstanceOf[HadoopFsRelation] => LogicalNames.of(relation)
    case relation: DataSourceV2ScanRelation if !relation.scan.isInstanceOf[ParquetryScan] => LogicalNames.of(relation)
    case leaf: LeafNode if !repeatable(leaf) => leaf.nodeName
    case typed @ (_: MapPartitions | _: MapElements | _: TypedFilter | _: FlatMapGroupsInPandas) => typed.nodeName
  }
  private def opaque(e: Expression): Boolean = e.isInstanceOf[ScalaUDF] || e.isInstanceOf[PythonFuncExpression]
  private def repeatable(leaf: LeafNode): Boolean = leaf match {
    case _: LocalRelation | _: OneRowRelation | _: Range | _: InMemoryRelation | _: LogicalRDD | _: LogicalRelation |
        _: DataSourceV2ScanRelation => true
    case _ => false
  }
}
