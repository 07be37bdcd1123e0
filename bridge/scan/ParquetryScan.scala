package org.apache.spark.sql.parquetry.scan

import java.util.OptionalLong

import org.json4s._

import org.apache.hadoop.fs.Path
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference, SortDirection, SortOrder}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.partitioning.{KeyGroupedPartitioning, Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.command.ExplainCommand
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.sources
import org.apache.spark.sql.parquetry.hash.BucketFunction
import org.apache.spark.sql.parquetry.predicates.RowGroupFilters
import org.apache.spark.sql.parquetry.protocol.{BucketsAnswer, Json, OrderAnswer, ScanAnswer}
import org.apache.spark.sql.parquetry.readers.{
  BucketReaderFactory, ConstantFileReaders, ErrorNamingReaderFactory, FileReaders, FileSplits, KeyedFilePartition, OpenedFilesFactory,
  RuntimeFilterPartition, RuntimeFilterReaders}
import org.apache.spark.sql.parquetry.table.{ParquetryTable, PushedPredicate, Schemas}
import org.apache.spark.sql.parquetry.versions.{ListsFiles, RuntimeFilteredScan}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * How the files of a scan are read.
 *
 * @param bucketed whether the buckets are reported to Spark
 * @param wholeFiles whether each sorted file is read whole, even without buckets
 * @param columns the data columns to read, or None for all
 */
case class ReadMode(bucketed: Boolean = true, wholeFiles: Boolean = false, columns: Option[Set[String]] = None)

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

  def this(table: ParquetryTable, pushed: Seq[PushedPredicate], required: StructType, options: CaseInsensitiveStringMap) =
    this(new ScanPlans(ScanRequest(table, pushed, required, options)), ReadMode())

  private val session = SparkSession.active
  def table: ParquetryTable = plans.request.table
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
    (if (awaitsValues && ParquetryScan.isRunning(session)) plans.state.answer else plans.narrowedOrListed).description
  override def report: JValue = plans.report
  override def reportLater: () => JValue = plans.reportLater
  override def bucketsInPlanning: JValue = plans.bucketsInPlanning
  override def opened: Option[Int] = plans.opened.map(_.value.intValue)
  override def sameScan: String = Reported.sameScan(table.versioned, plans.request.conditions)
  override def isReportReady: Boolean = !plans.reported.state.isInstanceOf[Estimated]
  override def toBatch: Batch = new PlannedBatch(this, listed)
  /** Decided without the files: Spark asks before they are listed. */
  override def columnarSupportMode(): Scan.ColumnarSupportMode =
    if (readers.columnar && !inFewer) Scan.ColumnarSupportMode.SUPPORTED else Scan.ColumnarSupportMode.UNSUPPORTED

  // Sizes for Spark's planning. An estimate is enough: a large table's files are not listed before runtime
  // values arrive.

  override def estimateStatistics(): Statistics = new Statistics {
    private def sizes = plans.state.answer.statistics
    override def sizeInBytes(): OptionalLong = OptionalLong.of(sizes.bytes)
    override def numRows(): OptionalLong = sizes.rows.fold(OptionalLong.empty())(OptionalLong.of(_))
  }
  def files: Int = plans.state.answer.statistics.files
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
  def isEstimated: Boolean = plans.state.isInstanceOf[Estimated]
  /** Notes that the plan has runtime filters for this scan. */
  def awaitValues(): Unit = awaiting = true
  def awaitsValues: Boolean = awaiting
  @volatile private var awaiting = false

  // Runtime filters. Joins test their rows in any case, so keeping a superset of the files is always right.
  // Filters come as Spark's own expressions: Spark translates expressions of partition columns to source
  // predicates only if the query reads all partition columns.

  override def filterAttributes(): Array[NamedReference] =
    plans.estimate.filterable.filter(columnNames).map(n => Expressions.column(Schemas.quoted(n))).toArray
  /** Does nothing: other nodes of the plan may have this scan, too. `NodeScan` uses the values. */
  override def filter(filters: Array[Expression]): Unit = ()
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
  def planTimeValues: Seq[JValue] = plans.request.planTimeValues
  def planTimeConditions: Seq[JValue] = plans.request.planTimeConditions
  def partitionSchema: StructType = plans.request.partitionSchema
  /** The values of `partitionSchema` of each partition that has listed files. */
  def partitionRows: Seq[InternalRow] = Json.toRows(listed.partitions, partitionSchema).toSeq
  def listed: ScanAnswer = plans.listed
  /** The listed files at some paths. */
  def listedAt(paths: Seq[String]): ScanAnswer = plans.request.ask(files = Some(paths))

  // Buckets. They come from the first answer: runtime values leave every file in its partition.

  def buckets: Option[BucketsAnswer] = if (mode.bucketed) plans.buckets else None
  def readsWholeFiles: Boolean = mode.wholeFiles
  override def outputPartitioning(): Partitioning = buckets.fold[Partitioning](new UnknownPartitioning(0))(found =>
    new KeyGroupedPartitioning(BucketFunction.transforms(found).toArray, found.count))
  override def outputOrdering(): Array[SortOrder] = buckets.toArray.flatMap(_.order).map { case OrderAnswer(column, descending) =>
    val direction = if (descending) SortDirection.DESCENDING else SortDirection.ASCENDING
    Expressions.sort(Expressions.column(Schemas.quoted(column)), direction)
  }

  // Variants of this scan

  /** Reads only the files that plan-time values of a join keep. */
  def withPlanTimeValues(values: JValue): ParquetryScan = copy(plans = plans.withPlanTimeValues(values))
  /**
   * Reads only the files that a query needs: fields of the question `plan_scan`. Nothing above a LIMIT or an
   * aggregate of all rows uses buckets, so none are reported.
   */
  def withNeeded(needed: JObject): ParquetryScan = copy(plans.withNeeded(needed), mode.copy(bucketed = false))
  /** The question's fields of `withNeeded`, or None if the query needs all rows. */
  def needed: Option[JObject] = plans.request.needed
  /** Reports no buckets to Spark, so that files are split and packed as for other scans. */
  def withoutBuckets: ParquetryScan = copy(plans.withOwnBucketCount, mode.copy(bucketed = false))
  /**
   * Reports another number of buckets to Spark; with more buckets, each file is read for several of them.
   * Returns None if the files cannot be read so.
   */
  def withBucketCount(count: Int): Option[ParquetryScan] =
    Some(copy(plans = plans.withBucketCount(count))).filter(_.buckets.exists(_.count == count))
  def withWholeFiles: ParquetryScan = copy(mode = mode.copy(wholeFiles = true))
  /** Reads only some of the data columns, and all partition columns. */
  def withColumns(names: Set[String]): ParquetryScan = copy(mode = mode.copy(columns = Some(names)))

  private def copy(plans: ScanPlans = plans, mode: ReadMode = mode): ParquetryScan = {
    val other = new ParquetryScan(plans, mode)
    other.awaiting = awaiting
    other
  }
  /** Whether both are variants of one scan, but not by `withPlanTimeValues` or `withNeeded`. */
  def isVariantOf(other: ParquetryScan): Boolean = plans.isVariantOf(other.plans)

  // Reading

  // Spark copies the reading node while it plans, and asks each copy for its partitions. Partitions are kept
  // for two answers, the listing and the newest one.
  private var planned = List.empty[(ScanAnswer, Array[InputPartition])]

  def partitions(answer: ScanAnswer): Array[InputPartition] = synchronized {
    planned.find(_._1 eq answer).map(_._2).getOrElse {
      val files = buckets.fold[Array[FilePartition]](
        pieces(answer).mixed)(_ => FileSplits.narrowed(byBucket, answer).toArray)
      val found = RowGroupFilters.fromRanges(answer.rowGroups, table) match {
        case Array() => files.toArray[InputPartition]
        case filters =>
          val own = readers.factory(rowGroupFilters ++ filters)
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

  private lazy val byBucket = pieces(listed).byBucket(buckets.get)
  private def pieces(answer: ScanAnswer) = new FileSplits(
    session, answer, partitionSchema, Some(plans.request.dataSchema), hidden.beside(_, partitionSchema, _))

  def rowGroupFilters: Array[sources.Filter] = RowGroupFilters(pushed, table)
  /**
   * Whether the files are in fewer buckets than are reported to Spark, so that readers filter rows by bucket.
   */
  private def inFewer: Boolean = buckets.exists(b => b.held < b.count)
  def readerFactory: PartitionReaderFactory = factory
  private lazy val factory: PartitionReaderFactory = {
    val inner = new RuntimeFilterReaders(readers.factory(rowGroupFilters))
    val chosen = buckets.filter(_ => inFewer).fold[PartitionReaderFactory](inner)(new BucketReaderFactory(inner, _, readSchema()))
    val constant = new ConstantFileReaders(
      ErrorNamingReaderFactory.wrap(chosen, table), plans.request.dataSchema, dataSchema, partitionSchema)
    new OpenedFilesFactory(constant, plans.countOpened(session.sparkContext))
  }

  private lazy val readers = new FileReaders(session, table, partitionSchema, dataSchema, hidden, options)

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
    (table.id(), table.version(), predicates.toSet, planTimeValues, needed, readSchema(), options, table.ref, buckets, mode.wholeFiles)
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
