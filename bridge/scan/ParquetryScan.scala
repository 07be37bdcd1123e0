package org.apache.spark.sql.parquetry.scan

import java.util.OptionalLong

import org.json4s._

import org.apache.hadoop.fs.Path
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, SortOrder => CatalystOrder}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference, SortDirection, SortOrder}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics
import org.apache.spark.sql.connector.read.partitioning.{KeyGroupedPartitioning, Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.command.ExplainCommand
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.sources
import org.apache.spark.sql.parquetry.hash.BucketFunction
import org.apache.spark.sql.parquetry.merging.{BucketReaderFactory, MergingReaderFactory, SliceReaderFactory}
import org.apache.spark.sql.parquetry.predicates.{FieldPath, RowGroupFilters}
import org.apache.spark.sql.parquetry.protocol.{AggregateAnswer, BucketsAnswer, FoundRanges, Json, OrderAnswer, PiecesAnswer, ScanAnswer}
import org.apache.spark.sql.parquetry.readers.{
  ConstantFileReaders, ErrorNamingReaderFactory, FileReaders, FileSplits, KeyedFilePartition, LaterFilePartition, OpenedFilesFactory,
  RuntimeFilterPartition, RuntimeFilterReaders}
import org.apache.spark.sql.parquetry.table.{ForeseenPlan, ParquetryTable, PushedPredicate, Schemas}
import org.apache.spark.sql.parquetry.versions.{ListsFiles, RuntimeFilteredScan}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * How the files of a scan are read.
 *
 * @param bucketed whether the buckets are reported to Spark
 * @param wholeFiles whether each sorted file is read whole, even without buckets
 * @param columns the data columns to read, or None for all
 * @param merging how several sorted files of a bucket are read
 * @param split the hot buckets that several tasks read, or None if none has been looked for
 * @param part the files to read, and their partitions
 */
case class ReadMode(
    bucketed: Boolean = true, wholeFiles: Boolean = false, columns: Option[Set[String]] = None, merging: Merging.Value = Merging.Ordered,
    split: Option[SplitBuckets] = None, part: ScanPart = AllFiles)

/**
 * The hot buckets of a join.
 *
 * @param divided whether each task reads a part of the bucket's rows, or all of them
 * @param text for EXPLAIN and the report
 */
case class SplitBuckets(buckets: Seq[PiecesAnswer], divided: Boolean, text: Option[String])

/**
 * How several sorted files of a bucket are read, if the planner wants them to be merged. They are one
 * partition with its rows in order, or the same partition in no order and by batches, or a partition each.
 */
object Merging extends Enumeration {
  val Ordered, Unordered, Separate: Value = Value
}

/** The files that a scan reads, and their partitions. */
sealed trait ScanPart
/** All files, in any partitions. */
case object AllFiles extends ScanPart
/** The files in buckets. Each bucket is one partition, with the bucket's number, if it has files or not. */
case object FilesInBuckets extends ScanPart
/** The files in no bucket, or in other buckets than most files, in any partitions. */
case object FilesBesideBuckets extends ScanPart

/**
 * The files that the planner chose, read by Spark's own readers.
 *
 * @param plans which files
 * @param mode how they are read
 */
class ParquetryScan private[scan] (private[scan] val plans: ScanPlans, private[scan] val mode: ReadMode)
  extends Scan with SupportsReportStatistics with SupportsReportPartitioning with SupportsReportOrdering
  with RuntimeFilteredScan with ListsFiles with Reported with Asked {
  import plans.request.{hidden, pushed}

  def this(
      table: ParquetryTable, pushed: Seq[PushedPredicate], required: StructType, options: CaseInsensitiveStringMap,
      foreseen: Option[ForeseenPlan] = None) =
    this(new ScanPlans(ScanRequest(table, pushed, required, options, foreseen = foreseen)), ReadMode())

  private val session = SparkSession.active
  override def table: ParquetryTable = plans.request.table
  def options: CaseInsensitiveStringMap = plans.request.options
  /** Whether a column is one of Spark's metadata columns. */
  def hiddenColumns(name: String): Boolean = hidden.names(name)
  private val dataSchema =
    mode.columns.fold(plans.request.dataSchema)(names => StructType(plans.request.dataSchema.filter(f => names(f.name))))
  val predicates: Array[Predicate] = pushed.map(_.predicate).toArray

  private lazy val columnNames = readSchema().fieldNames.toSet
  override def readSchema(): StructType = StructType(dataSchema.fields ++ partitionSchema.fields ++ hidden.fields)
  /**
   * Spark's UI shows a query's text before the query runs, so no file is listed for it. EXPLAIN shows all
   * that would be read.
   */
  override def description(): String =
    (if (awaitsValues && ParquetryScan.isRunning(session)) plans.state.answer else plans.narrowedOrListed).description +
      split.flatMap(_.text).fold("")(text => s" · $text")
  override def report: JValue = plans.report
  override def reportLater: () => JValue = plans.reportLater
  override def bucketsInPlanning: JValue = plans.bucketsInPlanning match {
    case found: JObject => found merge JObject(split.flatMap(_.text).map(text => "split" -> (JString(text): JValue)).toList)
    case other => other
  }
  override def opened: Option[Int] = plans.opened.map(_.value.intValue)
  override def sameScan: String = Reported.sameScan(table.versioned, plans.request.conditions)
  override def isReportReady: Boolean = !plans.reported.state.isInstanceOf[Estimated]
  override def toBatch: Batch = new PlannedBatch(this, listed)
  /** Decided without the files: Spark asks before they are listed. */
  override def columnarSupportMode(): Scan.ColumnarSupportMode =
    if (readers.columnar && !inFewer && !mergesFiles) Scan.ColumnarSupportMode.SUPPORTED else Scan.ColumnarSupportMode.UNSUPPORTED

  // Sizes for Spark's planning. An estimate is enough: a large table's files are not listed before runtime
  // values arrive.

  override def estimateStatistics(): Statistics = new Statistics {
    private def sizes = plans.state.answer.statistics
    /** The part of the bytes that is read. */
    private lazy val share = plans.bucketsInPlace.filter(_ => mode.part != AllFiles && !isEstimated).fold(1.0) { buckets =>
      val outside = buckets.outside.toDouble / math.max(sizes.bytes, 1L)
      math.min(1.0, if (mode.part == FilesBesideBuckets) outside else 1 - outside)
    }
    override def sizeInBytes(): OptionalLong = OptionalLong.of((sizes.bytes * share).toLong)
    /**
     * Only together with statistics of all columns. With a number of rows, and without statistics of the
     * keys, Spark's cost-based optimizer takes a join for a product of its sides.
     */
    override def numRows(): OptionalLong = estimates.numRows
    override def columnStats(): java.util.Map[NamedReference, ColumnStatistics] = estimates.columns
  }
  /**
   * The planner is asked only if Spark uses the answer. Columns that are none of the table's have no
   * statistics, a part of the files has others, and of rows below a LIMIT few are read.
   */
  private def estimates: ColumnEstimates =
    if (!ColumnEstimates.areUsed || !hidden.isEmpty || mode.part != AllFiles || mode.columns.isDefined || plans.request.needed.isDefined)
      ColumnEstimates.none
    else columnEstimates
  private lazy val columnEstimates = ColumnEstimates.of(plans.request.estimate, readSchema())
  def files: Int = plans.state.answer.statistics.files
  /** Bytes of all files, also if the scan reads only a part of them. */
  def bytes: Long = plans.state.answer.statistics.bytes
  /** The listed files, as their file systems spell them. */
  def paths: Seq[String] = {
    val hadoop = session.sessionState.newHadoopConf()
    FileSplits.paths(listed).map { file =>
      val (path, system) = (file.toPath, file.toPath.getFileSystem(hadoop))
      SparkPath.fromPath(Path.getPathWithoutSchemeAndAuthority(path).makeQualified(system.getUri, system.getWorkingDirectory)).urlEncoded
    }
  }
  def reportSoFar: JValue = plans.reportSoFar
  /** The query's conditions that pruned partitions, as text; Spark does not apply them again. */
  def decided: Seq[String] = plans.reported.state.answer.decided
  /** Whether the newest answer comes from the table's totals, and has no files. */
  /** Whether settings let joins' values prune this scan. */
  def takesRuntimeValues: Boolean = plans.estimate.runtimePruning
  def isEstimated: Boolean = plans.state.isInstanceOf[Estimated]
  /** Notes that the plan has runtime filters for this scan. */
  def awaitValues(): Unit = awaiting = true
  def awaitsValues: Boolean = awaiting
  @volatile private var awaiting = false

  // Runtime filters. Joins test their rows in any case, so keeping a superset of the files is always right.
  // Filters come as Spark's own expressions: Spark translates expressions of partition columns to source
  // predicates only if the query reads all partition columns.

  override def filterAttributes(): Array[NamedReference] =
    filterableNames.map(FieldPath.parts(_).head).distinct.filter(columnNames).map(n => Schemas.reference(n)).toArray
  private def filterableNames: Seq[String] = if (plans.request.isReference) Nil else plans.estimate.filterable
  /** The planner's names of the columns and fields whose runtime filters can prune something. */
  def filterable: Set[String] = filterableNames.toSet
  /** Does nothing: other nodes of the plan may have this scan, too. `NodeScan` uses the values. */
  override def narrowBy(filters: Array[Expression]): Unit = ()
  /** Why a filter that arrived pruned nothing, or None if it pruned something or has not arrived. */
  def ineffective(filter: Expression): Option[String] = plans.ineffective(filter)
  /** Notes for the report that the values of a filter did not arrive in time. */
  def recordTimeout(of: String, milliseconds: Long): Unit = plans.recordTimeout(of, milliseconds)
  def mostValues: Int = plans.estimate.mostValues
  def mostWait: Option[Long] = plans.estimate.mostWait

  // The request, and its files without runtime values

  /** The setting that has readers skip files, if one does. */
  def skipping: Option[String] = plans.request.skipping
  /** The conditions of the query itself. */
  override def asked: Seq[JValue] = plans.request.conditions
  /** All conditions of the scan's plan, as Spark evaluates them, or None if one has no such form. */
  def conditionsAsEvaluated: Option[Seq[Expression]] = for {
    own <- table.audited.orElse(Option.when(pushed.isEmpty)(Nil))
    values = plans.request.claimed.values
    if values.forall(_.isDefined)
  } yield own ++ pushed.flatMap(_.condition) ++ values.flatten
  def claimed: Claimed = plans.request.claimed
  /** The trees of the conditions that Spark does not apply to rows. */
  def settled: Seq[JValue] = pushed.filter(_.exact).map(_.tree)
  /** The same object for scans of the same files by the same answers. */
  def sameAnswers: AnyRef = plans
  def planTimeValues: Seq[JValue] = plans.request.planTimeValues
  def planTimeConditions: Seq[JValue] = plans.request.planTimeConditions
  def partitionSchema: StructType = plans.request.partitionSchema
  /** The values of `partitionSchema` of each partition that has listed files. */
  def partitionRows: Seq[InternalRow] = Json.toRows(listed.partitions, partitionSchema).toSeq
  def listed: ScanAnswer = plans.listed
  /** The files that this node's scan reads: runtime values, if any have arrived, keep only some. */
  def readNow: ScanAnswer = listed
  /** The listed files at some paths. */
  def listedAt(paths: Seq[String]): ScanAnswer = plans.request.ask(files = Some(paths))

  // Buckets. They come from the first answer: runtime values leave every file in its partition.

  def buckets: Option[BucketsAnswer] =
    if (!mode.bucketed) None else if (mode.part == FilesInBuckets) plans.bucketsInPlace else plans.buckets
  /** The buckets of most files, which can be read in place; see `inPlace`. */
  def bucketsInPlace: Option[BucketsAnswer] = if (mode.bucketed) plans.bucketsInPlace else None
  def readsWholeFiles: Boolean = mode.wholeFiles
  /** The hot buckets that several tasks read. */
  def split: Option[SplitBuckets] = mode.split
  /**
   * Whether all files of a bucket are one partition. Spark's setting for partial clustering wants several
   * partitions of a bucket, to distribute them.
   */
  private def together: Boolean = mode.part == AllFiles && mode.merging != Merging.Separate && buckets.exists(_.merged) &&
    !session.sessionState.conf.v2BucketingPartiallyClusteredDistributionEnabled
  /** Whether several files of a bucket are merged, so that their rows are in order. */
  def mergesFiles: Boolean = together && mode.merging == Merging.Ordered
  override def outputPartitioning(): Partitioning = buckets.filter(_ => mode.part == AllFiles).fold[Partitioning](new UnknownPartitioning(0))(found =>
    new KeyGroupedPartitioning(BucketFunction.transforms(found).toArray, found.count))
  override def outputOrdering(): Array[SortOrder] = buckets.toArray.flatMap(_.order).map { case OrderAnswer(column, descending) =>
    val direction = if (descending) SortDirection.DESCENDING else SortDirection.ASCENDING
    Expressions.sort(Schemas.reference(column), direction)
  }

  // Variants of this scan

  /** Reads only the files that plan-time values of a join keep. */
  def withPlanTimeValues(values: JValue, condition: Option[Expression]): ParquetryScan =
    copy(plans = plans.withPlanTimeValues(values, condition))
  /** Reads only the files with rows for more conditions, which nodes above test on each row. */
  def withConditions(more: Seq[PushedPredicate]): ParquetryScan = copy(plans = plans.withConditions(more))
  /**
   * Reads only the files that a query needs: fields of the question `plan_scan`. Nothing above a LIMIT or an
   * aggregate of all rows uses buckets, so none are reported.
   */
  def withNeeded(
      needed: JObject, order: Option[CatalystOrder], answered: Option[(AggregateAnswer, Seq[JValue])] = None): ParquetryScan =
    copy(plans.withNeeded(needed, order, answered), mode.copy(bucketed = false))
  /** The question's fields of `withNeeded`, or None if the query needs all rows. */
  def needed: Option[JObject] = plans.request.needed
  /** Reports no buckets to Spark, so that files are split and packed as for other scans. */
  def withoutBuckets: ParquetryScan = copy(plans.withOwnBucketCount, mode.copy(bucketed = false, part = AllFiles))
  /**
   * Reports another number of buckets to Spark; with more buckets, each file is read for several of them.
   * Returns None if the files cannot be read so.
   */
  def withBucketCount(count: Int): Option[ParquetryScan] =
    Some(copy(plans = plans.withBucketCount(count))).filter(_.buckets.exists(_.count == count))
  /**
   * Reads the files in buckets, each bucket in a partition of its own, or returns None if they cannot be read
   * in this number of buckets. `besideBuckets` reads the other files.
   */
  def inPlace(count: Int): Option[ParquetryScan] = bucketsInPlace.filter(found => count % found.held == 0 || found.held % count == 0)
    .map(found => copy(plans.withPlace(found.copy(count = count, held = math.min(count, found.held))), mode.copy(part = FilesInBuckets)))
  /** Reads the files that this scan in place leaves out; returns None if there are none. */
  def besideBuckets: Option[ParquetryScan] =
    Option.when(bucketsInPlace.exists(_.outside > 0))(copy(mode = mode.copy(bucketed = false, part = FilesBesideBuckets)))
  def readsInPlace: Boolean = mode.part == FilesInBuckets
  /** Whether another scan in place reads the other files, and reports for both. */
  def readsBesideBuckets: Boolean = mode.part == FilesBesideBuckets
  /**
   * Whether each bucket that is read in place is one file, in its order. Several files are not merged here:
   * sorting was cheaper. A join of two tables that were shuffled in part took 0.50 of the CPU of a shuffled
   * join. With nine files merged, and only the other part sorted, it took 0.74 (3 million rows, by a BIGINT).
   * Merging reads no batches, and Spark sorts such keys by radix.
   */
  def isSortedInPlace: Boolean = readsInPlace && !isEstimated && buckets.exists(_.order.nonEmpty) &&
    listed.files.bucket.filter(_ >= 0).groupBy(identity).values.forall(_.length == 1)
  def withWholeFiles: ParquetryScan = copy(mode = mode.copy(wholeFiles = true))
  /** Reads the files of a bucket one after the other, in the partitions that Spark knows. */
  def withoutOrder: ParquetryScan = copy(mode = mode.copy(merging = Merging.Unordered))
  def withSplit(split: SplitBuckets): ParquetryScan = copy(mode = mode.copy(split = Some(split)))
  def withoutSplit: ParquetryScan = copy(mode = mode.copy(split = None))
  /** Reads each file of a bucket in a partition of its own. */
  def withSeparateFiles: ParquetryScan = copy(mode = mode.copy(merging = Merging.Separate))
  /** Reads only some of the data columns, and all partition columns. */
  def withColumns(names: Set[String]): ParquetryScan = copy(mode = mode.copy(columns = Some(names)))

  private def copy(plans: ScanPlans = plans, mode: ReadMode = mode): ParquetryScan = {
    val other = new ParquetryScan(plans, mode)
    other.awaiting = awaiting
    other
  }
  /** Whether both are variants of one scan, but not by `withPlanTimeValues` or `withNeeded`. */
  def isVariantOf(other: ParquetryScan): Boolean = plans.isVariantOf(other.plans)
  override def original: AnyRef = plans.shared

  // Reading

  // Spark copies the reading node while it plans, and asks each copy for its partitions. Partitions are kept
  // for two answers, the listing and the newest one.
  private var planned = List.empty[(ScanAnswer, Array[InputPartition])]

  def partitions(answer: ScanAnswer): Array[InputPartition] = synchronized {
    planned.find(_._1 eq answer).map(_._2).getOrElse {
      val files = mode.part match {
        case FilesInBuckets => pieces(answer).inPlace(buckets.get)
        case FilesBesideBuckets => pieces(answer).besideBuckets
        case _ => buckets.fold[Array[FilePartition]](
          pieces(answer).mixed)(_ => FileSplits.narrowed(byBucket, answer).toArray)
      }
      val found = RowGroupFilters.fromRanges(answer.rowGroups, table) match {
        case filters if answer.order.exists(_.column.isDefined) =>
          val own = Option.when(filters.nonEmpty)(readers.factory(rowGroupFilters ++ filters, mergesFiles))
          files.map(file => new LaterFilePartition(file.index, file.files, own): InputPartition)
        case Array() => files.toArray[InputPartition]
        case filters =>
          val own = readers.factory(rowGroupFilters ++ filters, mergesFiles)
          files.map {
            case keyed: KeyedFilePartition => keyed.by(own): InputPartition
            case mixed => new RuntimeFilterPartition(mixed.index, mixed.files, Some(own))
          }
      }
      planned = (answer, found) :: planned.filter(kept => plans.state.listing.exists(_ eq kept._1))
      found
    }
  }

  /**
   * For each partition of the listed files, the best value of the sort key in it, or None if it is not known.
   * Returns None if the scan has no sort key.
   */
  def bestValues: Option[Seq[Option[String]]] = listed.order.filter(_.bounds.nonEmpty).map { order =>
    val ranks = FileSplits.paths(listed).zip(order.ranks).toMap
    partitions(listed).toSeq.map {
      case part: FilePartition => order.bounds(part.files.map(file => ranks(file.filePath)).min).headOption
      case _ => None
    }
  }

  /** One run of a query at a time decides by `needOnly` what readers leave out. */
  val later = new Object

  /**
   * Has partitions of `bestValues` that are read from now on leave out row groups whose rows are all after a
   * value of the sort key, if readers can. Without a value, they leave out what the scan does not need.
   */
  def needOnly(partitions: Seq[Int], descending: Boolean, last: Option[Any]): Unit = listed.order.flatMap(_.column).foreach { column =>
    val needed = last.flatMap(Json.toText).map(value =>
      FoundRanges(column, Seq(if (descending) Seq(value, null) else Seq(null, value)), Nil))
    val ranges = RowGroupFilters.fromRanges(listed.rowGroups ++ needed, table)
    val own = Option.when(ranges.nonEmpty)(readers.factory(rowGroupFilters ++ ranges, mergesFiles))
    val all = this.partitions(listed)
    partitions.map(all(_)).foreach { case file: LaterFilePartition => file.readers = own }
  }

  private lazy val byBucket = pieces(listed).byBucket(buckets.get, together, split.toSeq.flatMap(_.buckets), split.exists(_.divided))
  private def pieces(answer: ScanAnswer) = new FileSplits(
    session, answer, partitionSchema, Some(plans.request.dataSchema), hidden.beside(_, partitionSchema, _))

  def rowGroupFilters: Array[sources.Filter] = RowGroupFilters(pushed, table)
  /**
   * Whether the files are in fewer buckets than are reported to Spark, so that readers filter rows by bucket.
   */
  private def inFewer: Boolean = buckets.exists(b => b.held < b.count)
  def readerFactory: PartitionReaderFactory = factory
  private lazy val factory: PartitionReaderFactory = {
    val files = new RuntimeFilterReaders(readers.factory(rowGroupFilters, mergesFiles))
    val inner = if (split.exists(_.buckets.exists(_.interleaved))) new SliceReaderFactory(files) else files
    val chosen = buckets.filter(_ => inFewer).fold[PartitionReaderFactory](inner)(new BucketReaderFactory(inner, _, readSchema()))
    val constant = new ConstantFileReaders(
      ErrorNamingReaderFactory.wrap(chosen, table), plans.request.dataSchema, dataSchema, partitionSchema)
    val counted = new OpenedFilesFactory(constant, plans.countOpened(session.sparkContext))
    if (mergesFiles) new MergingReaderFactory(counted, buckets.get.order, readSchema()) else counted
  }

  private lazy val readers = new FileReaders(session, table, partitionSchema, dataSchema, hidden, options)

  // Spark's own scan of files (`UseFileScans`)

  /** Whether the planner allows Spark's scan of files, as far as is known without files. */
  def mayBeFileScan: Boolean = getClass == classOf[ParquetryScan] && plans.state.answer.native.exists(_.reason.isEmpty)
  /**
   * Whether Spark's scan of files reads this scan's files. The report says so, or why not.
   *
   * @param inBuckets whether a scan of files may report buckets
   * @param hindrance why no scan of the plan may become one, or None
   */
  def becomesFileScan(inBuckets: Boolean, hindrance: Option[String]): Boolean = {
    val form =
      if (hindrance.isDefined) hindrance
      else if (mode.part != AllFiles || split.isDefined || (buckets.isDefined && !(inBuckets && fileBuckets.isDefined))) Some("the plan uses its buckets")
      else Option.when(mode.wholeFiles)("the plan uses the order of its files")
    val reason = form.orElse(plans.listed.native.flatMap(_.reason))
    plans.recordFileScan(reason)
    reason.isEmpty
  }
  /** The buckets, if they have Spark's hash and the names of files have their numbers. */
  def fileBuckets: Option[BucketsAnswer] = buckets.filter(found => found.version == "spark" && found.held == found.count &&
    mode.merging != Merging.Separate && listed.files.eachName.zipWithIndex.forall { case (name, i) =>
      BucketingUtils.getBucketId(name).contains(listed.files.bucket(i))
    })
  /** The columns of files, without the partition columns. */
  def fileSchema: StructType = CharVarcharUtils.replaceCharVarcharWithStringInSchema(
    StructType(table.physical.fields.zip(table.logical.fields).collect { case (p, l) if !table.partitionColumns.contains(l.name) => p }))

  // What Spark's UI shows

  // From the first answer: Spark raises an error for a metric that was not declared before.
  private val metrics = plans.estimate.metrics.map(m => new PlannedMetric(m.name, m.text))
  override def supportedCustomMetrics(): Array[CustomMetric] = metrics.toArray
  override def reportDriverMetrics(): Array[CustomTaskMetric] = driverMetrics(plans.narrowedOrListed)
  def driverMetrics(answer: ScanAnswer): Array[CustomTaskMetric] = (for {
    metric <- answer.metrics if metrics.exists(_.name() == metric.name)
    number <- metric.value
  } yield new CustomTaskMetric {
    override def name(): String = metric.name
    override def value(): Long = number
  }).toArray

  // Equal scans let Spark reuse exchanges; Spark itself compares the runtime filters.
  private def key =
    (table.versionKey, predicates.toSet, planTimeValues, needed, readSchema(), options, table.ref, buckets, mode.wholeFiles,
      mode.merging, mode.split, mode.part)
  /** Whether another scan reads the same; one of them may be a node's own and the other shared. */
  def readsSame(other: ParquetryScan): Boolean = key == other.key
  // If a rule replaces a node by an equal one, Spark keeps the old node: a node's own scan must not equal the
  // shared one.
  override def equals(other: Any): Boolean = other match {
    case scan: ParquetryScan => scan.getClass == getClass && readsSame(scan)
    case _ => false
  }
  override def hashCode(): Int = key.hashCode()
}

object ParquetryScan {
  /** Whether this thread runs a query, and does not only explain it. */
  private def isRunning(session: SparkSession): Boolean = (for {
    id <- Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
    running <- Option(SQLExecution.getQueryExecution(id.toLong))
  } yield !running.logical.isInstanceOf[ExplainCommand]).getOrElse(false)
}
