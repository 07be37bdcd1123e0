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
 * The files that the planner chose, read by Spark's own readers.
 *
 * @param plan which files; copies of a scan have one together
 * @param keyed whether Spark is told of the buckets
 * @param whole whether sorted files have to be read one by one, also if no bucket is of use
 * @param columns those that are read of the files; None: all that were planned for
 */
class ParquetryScan private (private val plan: ScanPlans, keyed: Boolean, val whole: Boolean, columns: Option[Set[String]])
  extends Scan with SupportsReportStatistics with SupportsReportPartitioning with SupportsReportOrdering
  with SupportsRuntimeCatalystFiltering with Reported with Asked {
  import plan.{hidden, options, pushed}

  def this(table: ParquetryTable, pushed: Seq[PushedPredicate], required: StructType, options: CaseInsensitiveStringMap) =
    this(new ScanPlans(table, pushed, required, options), keyed = true, whole = false, None)

  private val session = SparkSession.active
  def table: ParquetryTable = plan.table
  private val dataSchema = columns.fold(plan.dataSchema)(some => StructType(plan.dataSchema.filter(f => some(f.name))))
  val predicates: Array[Predicate] = pushed.map(_.predicate).toArray

  private lazy val given = readSchema().fieldNames.toSet
  override def readSchema(): StructType = StructType(dataSchema.fields ++ partitionSchema.fields ++ hidden.fields)
  override def description(): String = (if (awaited && Running.query(session)) plan.known else plan.answer).description
  override def report: JValue = plan.used.answer.report merge plan.missed
  override def toBatch: Batch = plan.taken() match {
    case Some(found) => new PlannedBatch(this, found)
    case None => new PlannedBatch(this, plan.first)
  }
  /** Told without a look at what is read. */
  override def columnarSupportMode(): Scan.ColumnarSupportMode =
    if (readers.columnar && !inFewer) Scan.ColumnarSupportMode.SUPPORTED else Scan.ColumnarSupportMode.UNSUPPORTED

  // What Spark plans by. Of a large table its totals do: the files are not listed before values of a join have come.

  override def estimateStatistics(): Statistics = new Statistics {
    private def known(count: Option[Long]) = count.fold(OptionalLong.empty())(OptionalLong.of(_))
    override def sizeInBytes(): OptionalLong = known(plan.known.bytes)
    override def numRows(): OptionalLong = known(plan.known.rows)
  }
  def files: Int = plan.known.count
  /** The files that are read without values that arrive while the query runs, as their file systems spell them. */
  def paths: Seq[String] = {
    val hadoop = session.sessionState.newHadoopConf()
    FileSplits.paths(plan.first).map { file =>
      val (path, system) = (file.toPath, file.toPath.getFileSystem(hadoop))
      SparkPath.fromPath(Path.getPathWithoutSchemeAndAuthority(path).makeQualified(system.getUri, system.getWorkingDirectory)).urlEncoded
    }
  }
  def expected: JValue = plan.used.known.report
  /** Conditions of the query that left out partitions, as text; Spark applies none that these decide. */
  def decided: Seq[String] = plan.used.known.decided
  /** Whether nothing is listed yet. */
  def late: Boolean = plan.known.late
  /** Told of a scan for which the plan has values that arrive while the query runs. */
  def awaitValues(): Unit = awaited = true
  @volatile private var awaited = false

  // Values that arrive while the query runs. Spark does not apply them again: a superset is always right. They come as Spark's own
  // expressions: what it makes for sources of expressions of partition columns, it makes only if the query reads all of these.

  override def filterAttributes(): Array[NamedReference] =
    plan.expected.filterable.filter(given).map(n => Expressions.column(Schemas.quoted(n))).toArray
  override def filter(values: Array[Expression]): Unit = plan.narrow(values.toSeq)
  /** Why a filter that has come left nothing out; None: it did, or has not come. */
  def unused(filter: Expression): Option[String] = plan.unused(filter)

  // Values of a join that are known in planning

  /** The same scan, which reads only what values of a join leave. */
  def by(values: JValue): ParquetryScan = new ParquetryScan(plan.by(values), keyed, whole, columns)
  def joined: Seq[JValue] = plan.joined
  def trees: Seq[JValue] = plan.trees
  /** What the query itself asks. */
  override def asked: Seq[JValue] = plan.static
  /** Values of the columns of `partitionSchema`, of each partition that is read. */
  def partitionRows: Seq[InternalRow] = plan.first.partitions
  def partitionSchema: StructType = plan.partitionSchema
  /** What is read without values that arrive while the query runs. */
  def first: ScanAnswer = plan.first
  /** Of that the files of some paths. */
  def only(paths: Seq[String]): ScanAnswer = plan.only(paths)
  def mostValues: Int = plan.expected.mostValues
  def mostWait: Option[Long] = plan.expected.mostWait
  /** Told of values that were not there in time. */
  def missed(of: String, milliseconds: Long): Unit = plan.miss(of, milliseconds)

  // Buckets. They are those of the first plan: values that arrive later leave every file in its partition.

  def buckets: Option[BucketsAnswer] = if (keyed) plan.buckets else None
  override def outputPartitioning(): Partitioning = buckets.fold[Partitioning](new UnknownPartitioning(0))(found =>
    new KeyGroupedPartitioning(BucketFunction.transforms(found).toArray, found.count))
  override def outputOrdering(): Array[SortOrder] = buckets.toArray.flatMap(_.order).map { case (column, descending) =>
    val direction = if (descending) SortDirection.DESCENDING else SortDirection.ASCENDING
    Expressions.sort(Expressions.column(Schemas.quoted(column)), direction)
  }

  /** The same scan, which tells Spark of no buckets, so that its files are cut and packed as those of others are. */
  def free: ParquetryScan = new ParquetryScan(plan.inTheirOwn, keyed = false, whole, columns)

  /** The same scan, which tells Spark of more buckets, so that each file is read for several of them, or of fewer. */
  def in(count: Int): Option[ParquetryScan] =
    Some(new ParquetryScan(plan.in(count), keyed, whole, columns)).filter(_.buckets.exists(_.count == count))

  /** Whether another is the same scan, be it changed in how it is read. */
  def isOf(other: ParquetryScan): Boolean = plan.isOf(other.plan)

  def keptWhole: ParquetryScan = new ParquetryScan(plan, keyed, whole = true, columns)

  /** The same files, of which fewer columns are read: of those that are no partitions' values, some. */
  def of(some: Set[String]): ParquetryScan = {
    val fewer = new ParquetryScan(plan, keyed, whole, Some(some))
    fewer.awaited = awaited
    fewer
  }

  // Reading

  // Spark makes copies of the node that reads while it plans, and asks each of them anew: kept are those of the first answer,
  // and of the last.
  private var planned = List.empty[(ScanAnswer, Array[InputPartition])]

  def partitions(answer: ScanAnswer): Array[InputPartition] = synchronized {
    planned.find(_._1 eq answer).map(_._2).getOrElse {
      val files = buckets.fold[Array[FilePartition]](
        pieces(answer).mixed)(_ => FileSplits.narrowed(byBucket, answer).toArray)
      val found = RowGroupFilters.found(answer.rowGroups, table) match {
        case Array() => files.toArray[InputPartition]
        case filters =>
          val own = readers.factory(rowGroupFilters ++ filters)
          files.map {
            case keyed: KeyedFilePartition => keyed.by(own): InputPartition
            case mixed => new RuntimeFilterPartition(mixed.index, mixed.files, Some(own))
          }
      }
      planned = (answer, found) :: planned.filter(kept => plan.isFirst(kept._1))
      found
    }
  }

  private lazy val byBucket = pieces(plan.first).byBucket(buckets.get)
  private def pieces(answer: ScanAnswer) = new FileSplits(session, answer, hidden.beside(_, partitionSchema, _))

  def rowGroupFilters: Array[sources.Filter] = RowGroupFilters(pushed, table)
  /** Whether the files are in fewer buckets than Spark is told of, so that rows are chosen. */
  private def inFewer: Boolean = buckets.exists(b => b.held < b.count)
  lazy val readerFactory: PartitionReaderFactory = {
    val inner = new RuntimeFilterReaders(readers.factory(rowGroupFilters))
    val chosen = buckets.filter(_ => inFewer).fold[PartitionReaderFactory](inner)(new BucketReaderFactory(inner, _, readSchema()))
    ErrorNamingReaderFactory.of(chosen, table)
  }

  private lazy val readers = new FileReaders(session, table, partitionSchema, dataSchema, hidden, options)

  // What Spark's UI shows

  // As the first answer lists them: of a number that it was not told of before, Spark makes an error.
  private val metrics = plan.expected.metrics.map(m => new PlannedMetric(m.name, m.text))
  override def supportedCustomMetrics(): Array[CustomMetric] = metrics.toArray
  override def reportDriverMetrics(): Array[CustomTaskMetric] = driverMetrics(plan.answer)
  def driverMetrics(answer: ScanAnswer): Array[CustomTaskMetric] = (for {
    metric <- answer.metrics if metrics.exists(_.name() == metric.name)
    number <- metric.value
  } yield new CustomTaskMetric {
    override def name(): String = metric.name
    override def value(): Long = number
  }).toArray

  // Equal scans let Spark reuse exchanges; values that arrive at run time are compared by Spark itself.
  private def key = (table.id(), table.version(), predicates.toSet, joined, readSchema(), options, table.ref, buckets, whole)
  override def equals(other: Any): Boolean = other match {
    case s: ParquetryScan => s.key == key
    case _ => false
  }
  override def hashCode(): Int = key.hashCode()
}
