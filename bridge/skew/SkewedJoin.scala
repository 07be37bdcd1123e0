package org.apache.spark.sql.parquetry.skew

import org.json4s._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.joingraph.{BroadcastSide, EquiJoin, JoinSide, KeySource, LogicalNames}
import org.apache.spark.sql.parquetry.protocol.{Bridge, BuildFacts, Codec, Json, SkewFacts, StepFacts}
import org.apache.spark.sql.parquetry.rowlayout.{RowLayouts, Source}
import org.apache.spark.sql.parquetry.runtime.RuntimeCandidate
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * A join, and the side whose keys may be heavy: a scan of ours below nodes that pass rows on.
 *
 * @param own that side
 * @param other the other side
 * @param onLeft whether it is the left one
 * @param keys the keys that are columns of the scan, by their indices among the join's keys
 * @param layouts of the plan
 */
case class SkewedJoin(
    join: Join, own: JoinSide, other: JoinSide, onLeft: Boolean, relation: DataSourceV2ScanRelation, scan: ParquetryScan,
    keys: Seq[(Int, AttributeReference)], layouts: RowLayouts) {
  /** The scan of the other side, if that is one of ours below projections and filters alone. */
  private lazy val otherScan: Option[(DataSourceV2ScanRelation, ParquetryScan)] = SkewedJoin.plainScan(other.plan)
  private def otherColumn(index: Int): Option[AttributeReference] = otherScan.flatMap { case (found, _) =>
    KeySource.of(other.keys(index), other.plan).collectFirst { case KeySource(relation, _, column: AttributeReference, _, _) if relation eq found => column }
  }

  /**
   * Whether the planner is asked. About other tables than skewed ones it is not asked if Spark joins them
   * without a shuffle, or as a hint says, or in a FULL join.
   */
  def isWorthAsking: Boolean = scan.table.isSkewed || !(isBroadcast || isHinted || join.joinType == FullOuter)
  private lazy val isBroadcast = BroadcastSide.find(join).isDefined
  private def isHinted = join.hint != JoinHint.NONE

  /** @param number one for both sides of a join */
  def question(number: Int): JObject = JObject(scan.table.identity.toList ++ List[JField](
    "join" -> JInt(number),
    Json.readOptions(relation.relation.options),
    "facts" -> Codec.encode(facts),
    "columns" -> Json.strings(keys.map(_._2.name)),
    "predicates" -> JArray(scan.asked.toList),
    "other" -> otherScan.filter(_._2.table.ref == scan.table.ref).fold[JValue](JNull) { case (_, of) =>
      JObject(of.table.identity.toList :+ ("predicates" -> JArray(of.asked.toList): JField))
    },
    "other_columns" -> JArray(keys.map { case (index, _) => otherColumn(index).fold[JValue](JNull)(a => JString(a.name)) }.toList)))

  private def facts: SkewFacts = SkewFacts(
    `type` = typeName, side = if (onLeft) "left" else "right", own = build(own), other = build(other), bytes = relation.stats.sizeInBytes,
    broadcast = isBroadcast, hinted = isHinted,
    bucketed = Seq(own, other).forall(side => layouts.of(side).exists(one => one.isPlain && one.source.scan.buckets.isDefined)))
  private def build(side: JoinSide): BuildFacts =
    RuntimeCandidate.ofBuild(side.plan, side.keys, side.keys.map(LogicalNames.of(_)).mkString(", "), _ => 0)

  def typeName: String = LogicalNames.of(join.joinType)
  def table: String = scan.table.name()
  def otherName: String = LogicalNames.of(other.plan)
}

object SkewedJoin {
  /** The join with each side that may be divided by its keys. */
  def of(join: Join, layouts: RowLayouts): Seq[SkewedJoin] = join match {
    case EquiJoin(left, right, _) => sides(join.joinType).flatMap(onLeft =>
      if (onLeft) of(join, left, right, onLeft, layouts) else of(join, right, left, onLeft, layouts))
    case _ => Nil
  }

  /**
   * The sides that a broadcast of the other side leaves in place, as `true` for the left one. A FULL join has
   * none: the planner says so of both sides.
   */
  private def sides(joinType: JoinType): Seq[Boolean] = joinType match {
    case Inner | Cross | FullOuter => Seq(true, false)
    case LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_) => Seq(true)
    case RightOuter => Seq(false)
    case _ => Nil
  }

  private def of(join: Join, own: JoinSide, other: JoinSide, onLeft: Boolean, layouts: RowLayouts): Option[SkewedJoin] = {
    val sources = own.keys.indices.flatMap(index => KeySource.of(own.keys(index), own.plan) match {
      case Seq(source @ KeySource(_, _, column: AttributeReference, _, _)) if source.steps.forall(passes) => Some((index, source, column))
      case _ => None
    })
    sources.headOption.map(_._2).filter(first => isAlone(first.relation, own.plan) && liesWhereRead(first.relation, layouts.of(own.plan)))
      .map { first =>
        val keys = sources.collect { case (index, source, column) if source.relation eq first.relation => (index, column) }
        SkewedJoin(join, own, other, onLeft, first.relation, first.scan, keys.distinctBy(_._2.exprId), layouts)
      }
  }

  /** Whether a condition on a key may be tested below a node. */
  def passes(step: StepFacts): Boolean = step.deterministic &&
    (if (step.side.isEmpty) Set("Project", "Filter")(step.node) else Bridge.terms.transparentJoins(step.node -> step.side))

  /** Whether the joins below move no row of a scan: they broadcast their other sides. */
  private def liesWhereRead(relation: LogicalPlan, sources: Seq[Source]): Boolean =
    sources.exists(source => (source.relation eq relation) && !source.ifUsed)

  private def isAlone(relation: LogicalPlan, plan: LogicalPlan): Boolean = plan.collectLeaves().count(_ eq relation) == 1

  private def plainScan(plan: LogicalPlan): Option[(DataSourceV2ScanRelation, ParquetryScan)] = plan match {
    case _: Project | _: Filter => plainScan(plan.children.head)
    case relation @ ScanRelation(_, scan: ParquetryScan, _, _, _) => Some((relation, scan))
    case _ => None
  }
}
