package org.apache.spark.sql.parquetry.scan

import scala.collection.mutable

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.execution.InSubqueryExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.predicates.{EvaluatedPartitionPredicates, PartitionPredicates}
import org.apache.spark.sql.parquetry.protocol.{BucketsAnswer, ScanAnswer}

/**
 * How far the planner has come with a scan:
 *
 * {{{
 * Estimated ──────────── files are needed, and no value has arrived ──▶ Listed
 *     │                                                                   │
 *     └── runtime values have arrived ──▶ Narrowed ◀── values arrive ─────┘
 * }}}
 *
 * Only a large table begins as `Estimated`: its files are asked for when they are needed. Others are `Listed` at once.
 */
sealed trait ScanState {
  /** The planner's first answer. Spark plans by it. */
  def estimate: ScanAnswer
  /** The files that are read without runtime values, or None if no one has needed them yet. */
  def listing: Option[ScanAnswer]
  /** The newest answer. */
  def answer: ScanAnswer

  def withListing(files: ScanAnswer): ScanState = this match {
    case narrowed: Narrowed => narrowed.copy(listing = Some(files))
    case _ => Listed(estimate, files)
  }
}

/** Sizes and counts come from the table's totals; no file is listed. */
case class Estimated(estimate: ScanAnswer) extends ScanState {
  override def listing: Option[ScanAnswer] = None
  override def answer: ScanAnswer = estimate
}

/** The files are listed that satisfy what is known before the query runs. */
case class Listed(estimate: ScanAnswer, answer: ScanAnswer) extends ScanState {
  override def listing: Option[ScanAnswer] = Some(answer)
}

/** The files are listed that satisfy runtime values, too: the values that arrived last. */
case class Narrowed(estimate: ScanAnswer, listing: Option[ScanAnswer], values: Seq[JValue], answer: ScanAnswer) extends ScanState

/**
 * Moves a scan from one state to the next. All scans that are made of one another, with fewer columns or other buckets, share it.
 *
 * A query may read the files in more or fewer buckets than the table has, and come back from it. Each bucket count has an object of
 * this class. The original, which has the table's own count, knows the others, and which one the report describes.
 *
 * @param original the object for the table's own bucket count, or None if this is it
 * @param reportBefore the report on what was read without values of joins, if there are any
 */
class ScanPlans private (val request: ScanRequest, original: Option[ScanPlans], reportBefore: Option[JValue]) {
  def this(request: ScanRequest) = this(request, None, None)
  import request.{required, table}

  @volatile private var current: ScanState = {
    val answer = request.ask(reportBefore = reportBefore, mayEstimate = true)
    if (answer.late) Estimated(answer) else Listed(answer, answer)
  }
  def state: ScanState = current
  val estimate: ScanAnswer = current.estimate

  /** Returns the files without runtime values, and asks for them if no one has. */
  def listed: ScanAnswer = current.listing.getOrElse(synchronized {
    current.listing.getOrElse {
      val files = request.ask(reportBefore = reportBefore)
      current = current.withListing(files)
      files
    }
  })

  /** Returns the newest answer that has files. */
  def narrowedOrListed: ScanAnswer = current match {
    case narrowed: Narrowed => narrowed.answer
    case _ => listed
  }

  // Runtime values

  /**
   * Narrows the scan by filters whose values have arrived; returns None if the planner understands no filter. Filters of partition columns
   * alone that it does not understand are evaluated by Spark over the partitions that the other filters keep.
   */
  def narrow(filters: Seq[Expression]): Option[Narrowed] = {
    val sent = filters.flatMap(filter => RuntimeValues.tree(filter, estimate.mostValues).map(filter -> _))
    val narrowed = Option.when(sent.nonEmpty)(narrowBy(sent.map(_._2)))
    val understood = sent.zip(narrowed.fold(Seq.empty[Boolean])(_.answer.again)).collect { case (filter, false) => filter }
    val others = filters.filter(filter => !understood.exists(_._1 eq filter) && PartitionPredicates.decides(table, filter))
    val evaluated = others.zip(
      EvaluatedPartitionPredicates.values(table, request.planTimeConditions ++ understood.map(_._2), others).map(_.encoded))
    val (all, last) =
      if (evaluated.isEmpty) (sent, narrowed)
      else (understood ++ evaluated, Some(narrowBy((understood ++ evaluated).map(_._2))))
    last.foreach(result => base.recordOutcomes(all.map(_._1), result.answer.unused))
    last
  }

  /** Nodes that Spark copies from one node have the same values: only the first one asks. */
  private def narrowBy(values: Seq[JValue]): Narrowed = synchronized {
    current match {
      case same: Narrowed if same.values == values => same
      case before =>
        val narrowed = Narrowed(estimate, before.listing, values, request.ask(values, reportBefore.orElse(Some(estimate.report))))
        current = narrowed
        narrowed
    }
  }

  // Plan-time values

  /** The same request with plan-time values of a join: a new scan, with states of its own. */
  def withPlanTimeValues(values: JValue): ScanPlans = {
    val narrower = new ScanPlans(request.copy(planTimeValues = request.planTimeValues :+ values, bucketCount = None), None,
      reportBefore.orElse(Some(base.estimate.report)))
    request.bucketCount.fold(narrower)(narrower.withBucketCount)
  }

  // Bucket counts

  private val base: ScanPlans = original.getOrElse(this)
  private val byBucketCount = mutable.Map.empty[Int, ScanPlans]
  @volatile private var chosen = this

  def withBucketCount(count: Int): ScanPlans = base.synchronized {
    base.chosen = base.byBucketCount.getOrElseUpdate(
      count, new ScanPlans(base.request.copy(bucketCount = Some(count)), Some(base), reportBefore))
    base.chosen
  }
  /** The scan in the table's own bucket count. */
  def withOwnBucketCount: ScanPlans = {
    base.chosen = base
    base
  }
  def isVariantOf(other: ScanPlans): Boolean = base eq other.base

  /**
   * The buckets that Spark can be told of. Its function of a column takes the whole of it; and those of several columns it must
   * not take one by one (see `BucketKeys`), nor evaluate.
   */
  lazy val buckets: Option[BucketsAnswer] = estimate.buckets.filter { found =>
    val conf = SQLConf.get
    def whole(column: String) =
      CharVarcharUtils.replaceCharVarcharWithString(table.logical(column).dataType).sameType(required(column).dataType)
    found.columns.forall { case (column, _) => whole(column) } &&
      (found.columns.length == 1 || !(conf.v2BucketingAllowKeysSubsetOfPartitionKeys || conf.v2BucketingShuffleEnabled))
  }

  // The report

  /** The plans for the bucket count that was chosen last: the report describes these. */
  def reported: ScanPlans = base.chosen
  def report: JValue = reported.narrowedOrListed.report merge timedOutFilters
  /** The report as it stands; no file is listed for it. */
  def reportSoFar: JValue = reported.state.answer.report

  @volatile private var outcomes = Map.empty[Any, Option[String]]
  private def recordOutcomes(filters: Seq[Expression], reasons: Seq[Option[String]]): Unit =
    synchronized { outcomes ++= filters.map(identity).zip(reasons) }
  /** What tells a filter from others, whatever its values are. */
  private def identity(filter: Expression): Any = filter match {
    case in: InSubqueryExec => in.exprId
    case other => other
  }
  /** Why a filter that arrived pruned nothing, or None if it pruned something or has not arrived. */
  def ineffective(filter: Expression): Option[String] = base.outcomes.get(identity(filter)).flatten

  @volatile private var timeouts = Seq.empty[(String, Long)]
  def recordTimeout(of: String, milliseconds: Long): Unit =
    base.synchronized { base.timeouts = (base.timeouts :+ (of -> milliseconds)).distinct }
  private def timedOutFilters: JObject = {
    val filters = base.timeouts.map { case (of, most) => JObject("condition" -> JString(of), "milliseconds" -> JInt(most)) }
    if (filters.isEmpty) JObject() else JObject("run_time" -> JObject("missed" -> JArray(filters.toList)))
  }
}
