package org.apache.spark.sql.parquetry.scan

import scala.collection.mutable
import scala.util.Try

import org.json4s._

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, SortOrder}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.execution.InSubqueryExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.predicates.{EvaluatedPartitionPredicates, PartitionPredicates}
import org.apache.spark.sql.parquetry.protocol.{AggregateAnswer, BucketsAnswer, ScanAnswer}
import org.apache.spark.sql.parquetry.readers.OpenedFiles
import org.apache.spark.sql.parquetry.table.PushedPredicate
import org.apache.spark.sql.parquetry.values.InBoxes
import org.apache.spark.sql.parquetry.versions.Bucketing

/**
 * A state of a scan's answer: how much the planner has said of the scan's files so far.
 *
 * == What it is ==
 *
 * Spark wants a scan's size while it plans a query, and the scan's files when the query runs. In between,
 * joins may have found the values of runtime filters. So the planner answers up to three times, and each
 * answer is a state:
 *
 * {{{
 * state      the planner's answer                              Spark's call that needs it
 * Estimated  sizes and counts by the table's totals, no files  estimateStatistics
 * Listed     the files that the query's conditions keep        planInputPartitions
 * Narrowed   the files that runtime values keep, too           filter, then planInputPartitions
 *
 * Estimated ──────────── files are needed, and no value has arrived ──▶ Listed
 *     │                                                                   │
 *     └── runtime values have arrived ──▶ Narrowed ◀── values arrive ─────┘
 * }}}
 *
 * A scan begins as `Estimated` if its table has a hundred partitions or more, and if values of a join could
 * prune some that the query's own conditions seem to keep. The planner decides this in
 * `planner/scans/scan_answer.py`. Every other scan begins as `Listed`.
 *
 * == Example ==
 *
 * The table store_sales has 1,823 partitions, one for each date, with one file each. The query joins it with
 * the 30 dates of one month:
 *
 * {{{
 * SELECT … FROM store_sales JOIN date_dim ON ss_sold_date_sk = d_date_sk WHERE d_year = 2000 AND d_moy = 11
 *
 * Estimated  1,823 partitions, 1,823 files, about 90 MB    3 keys of the metastore read
 * Narrowed   30 partitions, 30 files, 1.4 MB               30 keys read
 * }}}
 *
 * Spark plans the join by the estimate, and broadcasts date_dim. The broadcast runs, and Spark passes its 30
 * keys to `filter`. Only then does the planner list files, in 30 partitions. This scan is never `Listed`. It
 * would be if the plan had no runtime filter for it, or for EXPLAIN, which shows the files but runs nothing.
 *
 * == What it is not ==
 *
 *  - It is not the state of one node of the physical plan. Several nodes may have one scan, each with runtime
 *    values of its own; a node keeps its own `Narrowed` (`NodeScan`). Here is the newest answer, for the
 *    report, and for copies of a node, which bring the same values again.
 *  - It is not a chain of ever fewer files. Each `Narrowed` comes from one set of values, and the next one
 *    may have more files. A node without values still needs all listed files, so `Narrowed` keeps the listing
 *    if there was one.
 *  - An estimate is no promise. Spark plans by it, but never reads by it, and reports mark their numbers as
 *    estimates.
 *
 * == Why not otherwise ==
 *
 *  - List files at once: Spark plans a large table before the small tables have run. In the example, 1,823
 *    partitions would be listed to read 30.
 *  - Prune the listed files here: file statistics and the rules of pruning are in Python, and the bridge
 *    decides nothing. A second question is inexpensive, since the planner keeps the scan's partitions for a
 *    while (`prune/query_cache.py`).
 *  - One object with optional fields: then the fields that are set would say which state it is. Three classes
 *    name the states, and each has exactly the answers of its state.
 *
 * == Reference ==
 *
 * The calls belong to interfaces of Spark's package `org.apache.spark.sql.connector.read`:
 * `SupportsReportStatistics.estimateStatistics`, `Batch.planInputPartitions`, and
 * `SupportsRuntimeV2Filtering.filter`. Our scans implement a sibling of the last, which passes Spark's own
 * expressions (`RuntimeFilteredScan`).
 *
 * A scan that reports its partitioning to Spark must preserve it when values arrive. So buckets come from the
 * first answer (`ScanPlans.buckets`). Iceberg's scans for Spark work otherwise: they list all files first,
 * and filter the listed tasks when values arrive.
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

/** Sizes and counts by the table's totals; no file is listed. */
case class Estimated(estimate: ScanAnswer) extends ScanState {
  override def listing: Option[ScanAnswer] = None
  override def answer: ScanAnswer = estimate
}

/** The files that the query's conditions and plan-time values keep. */
case class Listed(estimate: ScanAnswer, answer: ScanAnswer) extends ScanState {
  override def listing: Option[ScanAnswer] = Some(answer)
}

/** The files that runtime values keep, too; `values` are the values that arrived last. */
case class Narrowed(estimate: ScanAnswer, listing: Option[ScanAnswer], values: Seq[JValue], answer: ScanAnswer) extends ScanState

/**
 * Moves a scan from one state to the next. A scan and its variants, with fewer columns or other buckets,
 * share it.
 *
 * Rules may give Spark more or fewer buckets than the table has, and return to the table's own number. Each
 * bucket count has an object of this class. The original, with the table's own count, knows the others, and
 * which one the report describes.
 *
 * @param original the object for the table's own bucket count, or None if this is it
 * @param before what the steps kept before plan-time values, or None if this scan has none
 */
class ScanPlans private (val request: ScanRequest, original: Option[ScanPlans], private val before: Option[JValue]) {
  def this(request: ScanRequest) = this(request, None, None)
  import request.{required, table}

  @volatile private var current: ScanState = {
    val answer = request.ask(before = before, mayEstimate = true)
    if (answer.late) Estimated(answer) else Listed(answer, answer)
  }
  def state: ScanState = current
  val estimate: ScanAnswer = current.estimate

  /** Returns the files without runtime values; the first call asks the planner. */
  def listed: ScanAnswer = current.listing.getOrElse(synchronized {
    current.listing.getOrElse {
      val files = request.ask(before = before)
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
   * Narrows the scan by filters whose values have arrived; returns None if no filter can be used. If the
   * planner does not understand a filter of partition columns alone, Spark evaluates it over the partitions
   * that the other filters keep.
   */
  def narrow(given: Seq[Expression]): Option[Narrowed] = {
    val filters = given.map(InBoxes.arrived)
    val sent = filters.filterNot(computedFromPartitions)
      .flatMap(filter => RuntimeValues.tree(filter, estimate.mostValues).map(filter -> _))
    val narrowed = Option.when(sent.nonEmpty)(narrowBy(sent.map(_._2)))
    val understood = sent.zip(narrowed.fold(Seq.empty[Boolean])(_.answer.again)).collect { case ((filter, _), false) => filter }
    val others = filters.filter(filter => !understood.exists(_ eq filter) && PartitionPredicates.decides(table, filter))
    val kept = sent.filterNot { case (filter, _) => others.exists(_ eq filter) }
    val evaluated = others.zip(
      EvaluatedPartitionPredicates.values(table, request.planTimeConditions ++ kept.map(_._2), others).map(_.encoded))
    val (all, last) =
      if (evaluated.isEmpty) (sent, narrowed)
      else (kept ++ evaluated, Some(narrowBy((kept ++ evaluated).map(_._2))))
    last.foreach(result => base.recordOutcomes(all.map(_._1), result.answer.unused))
    last
  }

  private def computedFromPartitions(filter: Expression): Boolean = filter match {
    case in: InSubqueryExec => !in.child.isInstanceOf[AttributeReference] && PartitionPredicates.decides(table, in)
    case _ => false
  }

  /** The counts of the steps without runtime values. Spark's scan of files has listed the files before. */
  private def counts: JValue = if (base.asFileScan.isRight) listed.counts else estimate.counts

  /** Copies that Spark makes of a node have the same values: only the first one asks. */
  private def narrowBy(values: Seq[JValue]): Narrowed = synchronized {
    current match {
      case same: Narrowed if same.values == values => same
      case earlier =>
        val narrowed = Narrowed(estimate, earlier.listing, values, request.ask(values, before.orElse(Some(counts))))
        current = narrowed
        narrowed
    }
  }

  // Plan-time values

  /** The same request with plan-time values of a join: a new scan, with states of its own. */
  def withPlanTimeValues(values: JValue, condition: Option[Expression]): ScanPlans = {
    val claimed = request.claimed.copy(values = request.claimed.values :+ condition)
    val narrower = new ScanPlans(
      request.copy(planTimeValues = request.planTimeValues :+ values, bucketCount = None, place = None, claimed = claimed), None,
      before.orElse(Some(base.estimate.counts)))
    request.bucketCount.fold(narrower)(narrower.withBucketCount)
  }

  /** The same request with more conditions of the plan: a new scan, with states of its own. */
  def withConditions(more: Seq[PushedPredicate]): ScanPlans = {
    val narrower = new ScanPlans(request.copy(pushed = request.pushed ++ more, bucketCount = None), None, None)
    request.bucketCount.fold(narrower)(narrower.withBucketCount)
  }

  /** The same request for a query that needs only some of the rows: a new scan, with states of its own. */
  def withNeeded(needed: JObject, order: Option[SortOrder], answered: Option[(AggregateAnswer, Seq[JValue])]): ScanPlans =
    new ScanPlans(request.copy(needed = Some(needed), bucketCount = None, place = None,
      claimed = request.claimed.copy(order = order, answered = answered)), None, before)

  // Bucket counts

  private val base: ScanPlans = original.getOrElse(this)
  private val byBuckets = mutable.Map.empty[Any, ScanPlans]
  @volatile private var chosen = this

  def withBucketCount(count: Int): ScanPlans = base.synchronized {
    base.chosen = base.byBuckets.getOrElseUpdate(
      count, new ScanPlans(base.request.copy(bucketCount = Some(count)), Some(base), before))
    base.chosen
  }
  /**
   * The scan in certain buckets. Files in others, or in none, are outside, also if runtime values leave only
   * these.
   */
  def withPlace(buckets: BucketsAnswer): ScanPlans = base.synchronized {
    base.chosen = base.byBuckets.getOrElseUpdate(
      buckets, new ScanPlans(base.request.copy(place = Some(buckets)), Some(base), before))
    base.chosen
  }
  /** The scan in the table's own bucket count. */
  def withOwnBucketCount: ScanPlans = {
    base.chosen = base
    base
  }
  def isVariantOf(other: ScanPlans): Boolean = base eq other.base

  /**
   * The buckets that Spark may know, or None. Spark's function of a column needs the whole column, not only
   * some fields of it. For several columns, Spark must neither use the functions one by one (see
   * `BucketKeys`) nor evaluate them.
   */
  lazy val buckets: Option[BucketsAnswer] = bucketsInPlace.filter { found =>
    val conf = SQLConf.get
    found.outside == 0 && (found.columns.length == 1 || !(Bucketing.usesKeySubsets(conf) || conf.v2BucketingShuffleEnabled))
  }
  /** The buckets of most files. Some files may be outside: in no buckets, or in others. */
  lazy val bucketsInPlace: Option[BucketsAnswer] = request.place.orElse(estimate.buckets).filter(_ => !request.isReference).filter { found =>
    found.columns.forall(column =>
      CharVarcharUtils.replaceCharVarcharWithString(table.logical(column).dataType).sameType(required(column).dataType))
  }

  // The report

  /** The plans for the bucket count that was chosen last: the report describes these. */
  def reported: ScanPlans = base.chosen
  def report: JValue = reported.narrowedOrListed.report merge timedOutFilters merge formOfNode
  /**
   * The report by a question of its own, if the plan's report names several conditions. Some of them may have
   * pruned nothing. If the version is no longer there, it is the plan's report.
   */
  def reportLater: () => JValue = {
    val (described, known, missed) = (reported, report, timedOutFilters merge formOfNode)
    val (request, before) = (described.request, described.before)
    val (values, compared) = described.state match {
      case narrowed: Narrowed => (narrowed.values, before.orElse(Some(described.estimate.counts)))
      case _ => (Nil, before)
    }
    if (!ScanPlans.namesSeveral(known)) () => known
    else () => Try(request.ask(values, compared, apart = true).report).fold(_ => known, found =>
      JObject(found.asInstanceOf[JObject].obj.filterNot(_._1 == "buckets") ++ known.asInstanceOf[JObject].obj.filter(_._1 == "buckets")) merge missed)
  }
  /**
   * The buckets of the first answer if joins could not rely on them, else the buckets of the files. Another
   * variant of the scan may have others.
   */
  def bucketsInPlanning: JValue = estimate.report \ "buckets" match {
    case found: JObject if (found \ "reason") != JNothing => found
    case _ => narrowedOrListed.report \ "buckets"
  }
  /** The report of the newest answer; no file is listed for it. */
  def reportSoFar: JValue = reported.state.answer.report

  @volatile private var outcomes = Map.empty[Any, Option[String]]
  private def recordOutcomes(filters: Seq[Expression], reasons: Seq[Option[String]]): Unit =
    synchronized { outcomes ++= filters.map(identity).zip(reasons) }
  /** The identity of a filter, independent of its values. */
  private def identity(filter: Expression): Any = filter match {
    case in: InSubqueryExec => in.exprId
    case other => other
  }
  /** Why a filter that arrived pruned nothing, or None if it pruned something or has not arrived. */
  def ineffective(filter: Expression): Option[String] = base.outcomes.get(identity(filter)).flatten

  @volatile private var counted = Option.empty[OpenedFiles]
  /** The files that the tasks of this scan and its variants have opened, or None if no task was prepared. */
  def opened: Option[OpenedFiles] = base.counted
  def countOpened(context: SparkContext): OpenedFiles = base.synchronized(base.counted.getOrElse {
    val files = new OpenedFiles
    context.register(files)
    base.counted = Some(files)
    files
  })

  @volatile private var asFileScan: Either[Option[String], Unit] = Left(None)
  /** Records for the report why Spark's scan of files does not read the files, or None if it does. */
  def recordFileScan(reason: Option[String]): Unit = base.asFileScan = reason.fold[Either[Option[String], Unit]](Right(()))(why => Left(Some(why)))
  private def formOfNode: JObject =
    base.asFileScan.fold(_.orElse(base.estimate.native.flatMap(_.reason)), _ => None).fold(JObject())(reason => JObject("native" -> JObject("reason" -> JString(reason))))

  @volatile private var timeouts = Seq.empty[(String, Long)]
  def recordTimeout(of: String, milliseconds: Long): Unit =
    base.synchronized { base.timeouts = (base.timeouts :+ (of -> milliseconds)).distinct }
  private def timedOutFilters: JObject = {
    val filters = base.timeouts.map { case (of, most) => JObject("condition" -> JString(of), "milliseconds" -> JInt(most)) }
    if (filters.isEmpty) JObject() else JObject("run_time" -> JObject("missed" -> JArray(filters.toList)))
  }
}

private object ScanPlans {
  /** Whether a step of a report names several conditions that chose together. */
  def namesSeveral(report: JValue): Boolean = (report \ "steps").children.exists(step =>
    Set[JValue](JString("partitions"), JString("directories"), JString("buckets"))(step \ "name") && (step \ "by").children.length > 1)
}
