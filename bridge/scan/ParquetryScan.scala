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
import org.apache.spark.sql.internal.connector.SupportsRuntimeCatalystFiltering
import org.apache.spark.sql.sources
import org.apache.spark.sql.parquetry.hash.BucketFunction
import org.apache.spark.sql.parquetry.predicates.RowGroupFilters
import org.apache.spark.sql.parquetry.protocol.{BucketsAnswer, ScanAnswer}
import org.apache.spark.sql.parquetry.readers.{
  BucketReaderFactory, ErrorNamingReaderFactory, FileReaders, FileSplits, KeyedFilePartition, RuntimeFilterPartition,
  RuntimeFilterReaders}
import org.apache.spark.sql.parquetry.table.{ParquetryTable, PushedPredicate, Schemas}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * How the files of a scan are read.
 *
 * @param bucketed whether Spark is told of the buckets
 * @param wholeFiles whether sorted files have to be read one by one, also if no bucket is of use
 * @param columns the data columns to read, or None for all that the request names
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
  with SupportsRuntimeCatalystFiltering with Reported with Asked {
  import plans.request.{hidden, options, pushed}

  def this(table: ParquetryTable, pushed: Seq[PushedPredicate], required: StructType, options: CaseInsensitiveStringMap) =
    this(new ScanPlans(ScanRequest(table, pushed, required, options)), ReadMode())

  private val session = SparkSession.active
  def table: ParquetryTable = plans.request.table
  private val dataSchema =
    mode.columns.fold(plans.request.dataSchema)(names => StructType(plans.request.dataSchema.filter(f => names(f.name))))
  val predicates: Array[Predicate] = pushed.map(_.predicate).toArray

  private lazy val columnNames = readSchema().fieldNames.toSet
  override def readSchema(): StructType = StructType(dataSchema.fields ++ partitionSchema.fields ++ hidden.fields)
  /** Spark's UI has the text of a query before it runs: that lists no files. EXPLAIN has the text of what would be read. */
  override def description(): String =
    (if (awaitsValues && ParquetryScan.isRunning(session)) plans.state.answer else plans.narrowedOrListed).description
  override def report: JValue = plans.report
  override def toBatch: Batch = new PlannedBatch(this, listed)
  /** Told without a look at what is read. */
  override def columnarSupportMode(): Scan.ColumnarSupportMode =
    if (readers.columnar && !inFewer) Scan.ColumnarSupportMode.SUPPORTED else Scan.ColumnarSupportMode.UNSUPPORTED

  // What Spark plans by: an estimate does. The files of a large table are not listed before runtime values have arrived.

  override def estimateStatistics(): Statistics = new Statistics {
    private def optional(count: Option[Long]) = count.fold(OptionalLong.empty())(OptionalLong.of(_))
    override def sizeInBytes(): OptionalLong = optional(plans.state.answer.bytes)
    override def numRows(): OptionalLong = optional(plans.state.answer.rows)
  }
  def files: Int = plans.state.answer.count
  /** The listed files, as their file systems spell them. */
  def paths: Seq[String] = {
    val hadoop = session.sessionState.newHadoopConf()
    FileSplits.paths(listed).map { file =>
      val (path, system) = (file.toPath, file.toPath.getFileSystem(hadoop))
      SparkPath.fromPath(Path.getPathWithoutSchemeAndAuthority(path).makeQualified(system.getUri, system.getWorkingDirectory)).urlEncoded
    }
  }
  def reportSoFar: JValue = plans.reportSoFar
  /** Conditions of the query that left out partitions, as text; Spark applies none that these decide. */
  def decided: Seq[String] = plans.reported.state.answer.decided
  /** Whether the newest answer comes from the table's totals, and has no files. */
  def isEstimated: Boolean = plans.state.isInstanceOf[Estimated]
  /** To be called for a scan that the plan has runtime filters for. */
  def awaitValues(): Unit = awaiting = true
  def awaitsValues: Boolean = awaiting
  @volatile private var awaiting = false

  // Runtime filters. Spark does not apply them again: a superset is always right. They come as Spark's own expressions: Spark makes
  // predicates of sources from expressions of partition columns only if the query reads all partition columns.

  override def filterAttributes(): Array[NamedReference] =
    plans.estimate.filterable.filter(columnNames).map(n => Expressions.column(Schemas.quoted(n))).toArray
  /** Does nothing: other nodes of the plan may have this scan, too. `NodeScan` uses the values. */
  override def filter(filters: Array[Expression]): Unit = ()
  /** Why a filter that arrived pruned nothing, or None if it pruned something or has not arrived. */
  def ineffective(filter: Expression): Option[String] = plans.ineffective(filter)
  /** Notes for the report that the values of a filter were not there in time. */
  def recordTimeout(of: String, milliseconds: Long): Unit = plans.recordTimeout(of, milliseconds)
  def mostValues: Int = plans.estimate.mostValues
  def mostWait: Option[Long] = plans.estimate.mostWait

  // What was asked, and the files that answer it without runtime values

  /** The conditions of the query itself. */
  override def asked: Seq[JValue] = plans.request.conditions
  def planTimeValues: Seq[JValue] = plans.request.planTimeValues
  def planTimeConditions: Seq[JValue] = plans.request.planTimeConditions
  def partitionSchema: StructType = plans.request.partitionSchema
  /** The values of `partitionSchema` of each partition that has listed files. */
  def partitionRows: Seq[InternalRow] = listed.partitions
  def listed: ScanAnswer = plans.listed
  /** The listed files at some paths. */
  def listedAt(paths: Seq[String]): ScanAnswer = plans.request.ask(files = Some(paths))

  // Buckets. They are those of the first answer: runtime values leave every file in its partition.

  def buckets: Option[BucketsAnswer] = if (mode.bucketed) plans.buckets else None
  def readsWholeFiles: Boolean = mode.wholeFiles
  override def outputPartitioning(): Partitioning = buckets.fold[Partitioning](new UnknownPartitioning(0))(found =>
    new KeyGroupedPartitioning(BucketFunction.transforms(found).toArray, found.count))
  override def outputOrdering(): Array[SortOrder] = buckets.toArray.flatMap(_.order).map { case (column, descending) =>
    val direction = if (descending) SortDirection.DESCENDING else SortDirection.ASCENDING
    Expressions.sort(Expressions.column(Schemas.quoted(column)), direction)
  }

  // Scans that are made of this one

  /** Reads only the files that satisfy plan-time values of a join. */
  def withPlanTimeValues(values: JValue): ParquetryScan = copy(plans = plans.withPlanTimeValues(values))
  /** Tells Spark of no buckets, so that files are split and packed as those of other scans are. */
  def withoutBuckets: ParquetryScan = copy(plans.withOwnBucketCount, mode.copy(bucketed = false))
  /** Tells Spark of more buckets, so that each file is read for several of them, or of fewer; None if the files cannot be read so. */
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
  /** Whether both are made of the same scan, by any of these but `withPlanTimeValues`. */
  def isVariantOf(other: ParquetryScan): Boolean = plans.isVariantOf(other.plans)

  // Reading

  // Spark makes copies of the node that reads while it plans, and asks each of them anew: kept are those of the first answer,
  // and of the last.
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

  private lazy val byBucket = pieces(listed).byBucket(buckets.get)
  private def pieces(answer: ScanAnswer) = new FileSplits(session, answer, hidden.beside(_, partitionSchema, _))

  def rowGroupFilters: Array[sources.Filter] = RowGroupFilters(pushed, table)
  /** Whether the files are in fewer buckets than Spark is told of, so that rows are chosen. */
  private def inFewer: Boolean = buckets.exists(b => b.held < b.count)
  def readerFactory: PartitionReaderFactory = factory
  private lazy val factory: PartitionReaderFactory = {
    val inner = new RuntimeFilterReaders(readers.factory(rowGroupFilters))
    val chosen = buckets.filter(_ => inFewer).fold[PartitionReaderFactory](inner)(new BucketReaderFactory(inner, _, readSchema()))
    ErrorNamingReaderFactory.wrap(chosen, table)
  }

  private lazy val readers = new FileReaders(session, table, partitionSchema, dataSchema, hidden, options)

  // What Spark's UI shows

  // As the first answer lists them: of a number that it was not told of before, Spark makes an error.
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
    (table.id(), table.version(), predicates.toSet, planTimeValues, readSchema(), options, table.ref, buckets, mode.wholeFiles)
  /** Whether another scan reads the same, be it a node's own or one that nodes share. */
  def readsSame(other: ParquetryScan): Boolean = key == other.key
  // Where a rule puts an equal node in the place of another, Spark keeps the other: a node's own scan must not equal the shared one.
  override def equals(other: Any): Boolean = other match {
    case scan: ParquetryScan => scan.getClass == getClass && readsSame(scan)
    case _ => false
  }
  override def hashCode(): Int = key.hashCode()
}

object ParquetryScan {
  /** Whether a query of this thread is being run, and not explained. */
  private def isRunning(session: SparkSession): Boolean = (for {
    id <- Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
    running <- Option(SQLExecution.getQueryExecution(id.toLong))
  } yield !running.logical.isInstanceOf[ExplainCommand]).getOrElse(false)
}
