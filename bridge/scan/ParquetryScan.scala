package org.apache.spark.sql.parquetry

import java.util.OptionalLong

import scala.collection.mutable

import org.json4s._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.v2.orc.OrcScan
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan
import org.apache.spark.sql.internal.connector.PartitionPredicateImpl
import org.apache.spark.sql.sources
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The files that the planner chose, read by Spark's own readers. */
class ParquetryScan(
    val table: ParquetryTable,
    pushed: Seq[PushedPredicate],
    val required: StructType,
    options: CaseInsensitiveStringMap)
  extends Scan with Batch with SupportsReportStatistics with SupportsRuntimeV2Filtering with Reported {

  private val session = SparkSession.active
  private val (partitionSchema, dataSchema) = {
    val (p, d) = required.fields.partition(f => table.partitionColumns.contains(f.name))
    (StructType(p), StructType(d))
  }
  private val static = pushed.map(_.tree)
  val predicates: Array[Predicate] = pushed.map(_.predicate).toArray
  private var runtime = Seq.empty[PushedPredicate]
  private var plan: ScanAnswer = planned()

  private def planned(): ScanAnswer = Answers.scan(table.ref.ask("plan_scan", table.identity ++ Seq[JField](
    "predicates" -> JArray(static.toList),
    "runtime" -> JArray(runtime.map(_.tree).toList),
    "columns" -> Json.strings(required.fieldNames),
    Json.readOptions(options), Settings.field): _*), partitionSchema)

  override def readSchema(): StructType = StructType(dataSchema.fields ++ partitionSchema.fields)
  override def description(): String = plan.description
  override def report: JValue = plan.report
  override def toBatch: Batch = this

  override def estimateStatistics(): Statistics = new Statistics {
    private def known(count: Option[Long]) = count.fold(OptionalLong.empty())(OptionalLong.of(_))
    override def sizeInBytes(): OptionalLong = known(plan.bytes)
    override def numRows(): OptionalLong = known(plan.rows)
  }

  // Values that arrive while the query runs. Spark does not apply them again: a superset is always right.

  override def filterAttributes(): Array[NamedReference] =
    partitionSchema.fieldNames.map(n => Expressions.column(s"`${n.replace("`", "``")}`"))
  override def supportsIterativePushdown(): Boolean = true
  /** Those that the planner understands; the others come again, to be evaluated over the partitions' values. */
  override def pushedPredicates(): Array[Predicate] = runtime.filterNot(_.again).map(_.predicate).toArray
  override def filter(values: Array[Predicate]): Unit = if (values.nonEmpty) {
    val again = values.collect { case p: PartitionPredicateImpl => p }
    runtime =
      if (again.isEmpty) runtime ++ table.judge(values.toSeq, options)
      else runtime.filterNot(_.again) ++
        PartitionConditions.evaluate(table, static ++ runtime.map(_.tree), again.toSeq)
    plan = planned()
  }

  // Reading

  // Spark makes copies of the node that reads while it plans, and asks each of them anew.
  private var pieces: Option[(ScanAnswer, Array[InputPartition])] = None

  override def planInputPartitions(): Array[InputPartition] = synchronized {
    if (!pieces.exists(_._1 eq plan)) pieces = Some((plan, split()))
    pieces.get._2
  }

  private def split(): Array[InputPartition] = {
    val openCost = session.sessionState.conf.filesOpenCostInBytes
    val files = plan.files
    val most = FilePartition.maxSplitBytes(session, files.bytes.map(_ + openCost).sum)
    val folders = files.folders.map(new FolderPaths(_))
    val splits = mutable.ArrayBuffer.empty[PartitionedFile]
    files.names.zipWithIndex.foreach { case (name, i) =>
      val (path, row, size) = (folders(files.folder(i)).file(name), plan.partitions(files.partition(i)), files.bytes(i))
      var start = 0L
      while (start < size) {
        splits += PartitionedFile(row, path, start, math.min(most, size - start), Array.empty[String], files.modified(i),
          size, Map.empty)
        start += most
      }
    }
    FilePartition.getFilePartitions(session, splits.sortBy(-_.length).toSeq, most).toArray
  }

  def rowGroupFilters: Array[sources.Filter] = RowGroupFilters(pushed, table)
  override def createReaderFactory(): PartitionReaderFactory = factory
  private lazy val factory: PartitionReaderFactory = {
    val index: PartitioningAwareFileIndex = null // which files there are is no affair of a reader factory
    val whole = StructType(table.physical.fields.zip(table.logical.fields).collect {
      case (p, l) if !table.partitionColumns.contains(l.name) => p
    })
    val read = Schemas.physical(dataSchema, table.logical, table.physical).asInstanceOf[StructType]
    // readers go by place, and ORC's would convert a column of the same name that files hold, too
    val inPath = StructType(partitionSchema.fields.zipWithIndex.map { case (f, i) => f.copy(name = s"parquetry.partition.$i") })
    val hadoop = session.sessionState.newHadoopConf()
    val inner = table.format match {
      case "orc" => OrcScan(session, hadoop, index, whole, read, inPath, options, None, rowGroupFilters, Nil, Nil)
        .createReaderFactory()
      case _ => ParquetScan(session, hadoop, index, whole, read, inPath, rowGroupFilters, options, None, Nil, Nil, Array.empty)
        .createReaderFactory()
    }
    new NamingReaderFactory(inner, table.name(), s"CALL ${table.ref.name}.system.sync(table => '${table.name()}')")
  }

  // What Spark's UI shows

  // As the first plan lists them: of a number that it was not told of before, Spark makes an error.
  private val metrics = plan.metrics.map(m => new PlannedMetric(m.name, m.text))
  override def supportedCustomMetrics(): Array[CustomMetric] = metrics.toArray
  override def reportDriverMetrics(): Array[CustomTaskMetric] = (for {
    metric <- plan.metrics if metrics.exists(_.name() == metric.name)
    number <- metric.value
  } yield new CustomTaskMetric {
    override def name(): String = metric.name
    override def value(): Long = number
  }).toArray

  // Equal scans let Spark reuse exchanges; values that arrive at run time are compared by Spark itself.
  private def key = (table.id(), table.version(), predicates.toSet, required, options, table.ref)
  override def equals(other: Any): Boolean = other match {
    case s: ParquetryScan => s.key == key
    case _ => false
  }
  override def hashCode(): Int = key.hashCode()
}
