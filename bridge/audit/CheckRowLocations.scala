package org.apache.spark.sql.parquetry.audit

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal, Murmur3Hash, Pmod, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.{AllTuples, Distribution, HashPartitioning, Partitioning, PartitioningCollection, UnspecifiedDistribution}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{FilterExec, ProjectExec, SortExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, QueryStageExec}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, Exchange}
import org.apache.spark.sql.parquetry.filescans.ScanNode
import org.apache.spark.sql.parquetry.hash.{BucketFunction, BucketHash, FoldedBuckets}
import org.apache.spark.sql.parquetry.ordering.IncrementalSortExec
import org.apache.spark.sql.parquetry.protocol.AuditMode
import org.apache.spark.sql.parquetry.rowlayout._
import org.apache.spark.sql.parquetry.scan.{ParquetryScan, SplitBuckets}
import org.apache.spark.sql.parquetry.versions.{Bucketing, BucketTransform}

/**
 * Puts a check above each node that tells Spark where its rows are. Another check is above each node whose
 * rows a parent relies on: a join without an exchange, or a sort that was left out. The second finds claims
 * that were true of a scan, and no longer hold for the rows that a join or a UNION has made of them.
 *
 * {{{
 * SortMergeJoin                     SortMergeJoin
 * ├ InBuckets                       ├ CheckedRows: in 8 buckets by hash of k
 * │   scan                          │   InBuckets
 * └ Exchange buckets(…)             │     scan
 *     scan                          └ CheckedRows: in 8 buckets by hash of k
 *                                       Exchange buckets(…)
 *                                         scan
 * }}}
 *
 * It runs on a plan, or on a stage of an adaptive one, that no rule changes any more. So Spark decides about
 * exchanges, sorts and their reuse without it.
 */
object CheckRowLocations extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan =
    if (!AuditMode.isOn || !(AuditMode.share >= 1 || NoteAuditedPlan.isAudited(plan))) plan
    else checked(visit(plan), claims(plan, UnspecifiedDistribution, Nil), plan)

  private def visit(plan: SparkPlan): SparkPlan = plan match {
    case done: CheckedRowsExec => done
    case grouped if Bucketing.groups(grouped) => grouped // Spark merges sorted partitions above nodes that it knows, and above no other
    case node =>
      val needs = node.requiredChildDistribution.zip(node.requiredChildOrdering)
      val children = node.children.zip(needs).map { case (child, (distribution, order)) =>
        checked(visit(child), claims(child, distribution, order).filterNot(claim => checkedBelow(child).exists(claim.followsFrom)), child)
      }
      if (children.zip(node.children).forall { case (a, b) => a eq b }) node else node.withNewChildren(children)
  }

  private def checked(visited: SparkPlan, claims: Seq[RowClaim], of: SparkPlan): SparkPlan =
    if (claims.isEmpty || visited.isInstanceOf[CheckedRowsExec]) visited else CheckedRowsExec(claims, tables(of), AuditFailure.newPath.toString, visited)

  private def tables(plan: SparkPlan): String = plan.collectWithSubqueries { case ScanNode(scan: ParquetryScan, _) => scan.table.name() }
    .distinct.mkString(", ") match {
      case "" => "a shuffle"
      case names => names
    }

  /** The claims of ours about the rows of a node, if the node made them, or if its parent relies on them. */
  private def claims(node: SparkPlan, distribution: Distribution, order: Seq[SortOrder]): Seq[RowClaim] = {
    val relies = distribution != UnspecifiedDistribution && distribution != AllTuples
    val buckets = if (relies || isSource(node)) partitionings(node.outputPartitioning).flatMap(inBuckets(node, _)) else Nil
    val own = if (isSource(node) || node.isInstanceOf[IncrementalSortExec]) node.outputOrdering else Nil
    val needed = if (own.nonEmpty || node.isInstanceOf[SortExec] || !isSorted(node)) Nil else order
    (buckets.distinctBy(_.text) ++ Seq(own, needed).filter(_.nonEmpty).map(InOrder(_)))
      .filter { case claim: InOrder => claim.order.forall(there(node, _)); case _ => true }
  }

  /** The claims that are checked below nodes that only leave out rows and columns. */
  private def checkedBelow(node: SparkPlan): Seq[RowClaim] = node match {
    case FilterExec(_, child) => claims(child, UnspecifiedDistribution, Nil) ++ checkedBelow(child)
    case ProjectExec(list, child) if list.forall(_.isInstanceOf[Attribute]) => claims(child, UnspecifiedDistribution, Nil) ++ checkedBelow(child)
    case _ => Nil
  }

  private def there(node: SparkPlan, e: Expression): Boolean = e.references.subsetOf(node.outputSet)

  /** Whether a node tells Spark where rows are. */
  private def isSource(node: SparkPlan): Boolean = node match {
    case ScanNode(_: ParquetryScan, _) => true
    case _: InBucketsExec | _: ComputedBucketsExec | _: StayInBucketsExec | _: ZipBucketsExec | _: ZippedUnionExec => true
    case other => Bucketing.groups(other) && !isShuffled(other)
  }

  /** Whether rows come from sorted files without a shuffle. */
  private def isSorted(plan: SparkPlan): Boolean = plan match {
    case ScanNode(scan: ParquetryScan, _) => scan.buckets.exists(_.order.nonEmpty)
    case _: Exchange => false
    case other => other.children.exists(isSorted)
  }

  /** Whether rows have been moved since they were read; broadcasts do not count. */
  private def isShuffled(plan: SparkPlan): Boolean = plan match {
    case _: BroadcastExchangeLike | _: BroadcastQueryStageExec => false
    case _: Exchange | _: QueryStageExec | _: InMemoryTableScanExec => true
    case other => other.children.exists(isShuffled)
  }

  private def partitionings(all: Partitioning): Seq[Partitioning] = all match {
    case several: PartitioningCollection => several.partitionings.flatMap { case one: Partitioning => partitionings(one) }
    case one => Seq(one)
  }

  private def inBuckets(node: SparkPlan, claimed: Partitioning): Option[RowClaim] = (claimed match {
    case buckets: BucketPartitioning =>
      val columns = buckets.expressions
      Some(InBucket(buckets.layout.bucket(columns), buckets.layout.count, columns, None, None))
    case hash: HashPartitioning if !isShuffled(node) && readsBuckets(node) =>
      Some(InBucket(Pmod(new Murmur3Hash(hash.expressions), Literal(hash.numPartitions)), hash.numPartitions, hash.expressions, None, None))
    case other if !isShuffled(node) => Bucketing.keys(other).flatMap { case (functions, keys) => byKeys(node, functions, keys) }
    case _ => None
  }).filter(claim => claim.keys.nonEmpty && claim.keys.forall(there(node, _)))

  private def readsBuckets(plan: SparkPlan): Boolean = plan.exists {
    case _: BatchScanExec => false
    case ScanNode(scan: ParquetryScan, _) => scan.fileBuckets.isDefined
    case _ => false
  }

  /**
   * The buckets of partitions that have a key for each column. The key of a bucket is its number, or 0 in
   * some columns (`BucketKeys`). The tasks of a bucket that is split have keys of their own.
   */
  private def byKeys(node: SparkPlan, functions: Seq[Expression], keys: Seq[Seq[Int]]): Option[InBucket] = {
    val known = functions.collect { case BucketTransform(function: BucketFunction, Seq(column: Attribute)) => function -> column }.sortBy(_._1.column)
    known.headOption.map(_._1).filter(first => known.length == functions.length && known.map(_._1.column) == (1 to first.columns)).map { first =>
      val columns = known.map(_._2)
      val pieces = splitBuckets(node, first)
      val numbers = keys.map(_.max).map(key => pieces.getOrElse(key, key))
      // what is folded has fewer buckets than its function has
      val folded = folds(node).filter(count => count < first.count && numbers.forall(_ < count.max(first.columns + 1))).minOption
      InBucket(BucketHash.settled(first.version, first.count, columns, known.map(_._1.raw)), first.count, columns, Some(numbers), folded)
    }
  }

  private def splitBuckets(node: SparkPlan, function: BucketFunction): Map[Int, Int] =
    node.collectFirst { case ScanNode(scan: ParquetryScan, _) if scan.split.exists(_.buckets.nonEmpty) => scan.split.get }.fold(Map.empty[Int, Int]) {
      case SplitBuckets(buckets, _, _) =>
        val first = buckets.scanLeft(function.count.max(function.columns + 1))(_ + _.pieces - 1)
        buckets.zip(first).flatMap { case (each, begin) => (0 until each.pieces - 1).map(i => (begin + i) -> each.bucket) }.toMap
    }

  /** The numbers that Spark folds buckets to, within a plan. */
  private def folds(plan: SparkPlan): Seq[Int] = plan.collect { case node if Bucketing.groups(node) =>
    def within(value: Any): Seq[Int] = value match {
      case folded: FoldedBuckets => Seq(folded.count)
      case _: SparkPlan | _: Expression => Nil
      case some: Iterable[_] => some.toSeq.flatMap(within)
      case product: Product => product.productIterator.toSeq.flatMap(within)
      case _ => Nil
    }
    node.productIterator.toSeq.flatMap(within)
  }.flatten
}

/** Marks the nodes of a plan that is audited, since each of its stages is looked at alone. */
object NoteAuditedPlan extends Rule[SparkPlan] {
  private val audited = TreeNodeTag[Boolean]("parquetry.audited")

  override def apply(plan: SparkPlan): SparkPlan = {
    if (AuditMode.isOn && plan.exists(_.isInstanceOf[AuditExec])) plan.foreach(_.setTagValue(audited, true))
    plan
  }

  def isAudited(plan: SparkPlan): Boolean = plan.exists(node => node.isInstanceOf[AuditExec] || node.getTagValue(audited).isDefined)
}
