package org.apache.spark.sql.parquetry.streaming

import java.util

import scala.jdk.CollectionConverters._

import org.json4s.JBool

import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory, Scan, ScanBuilder}
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.changes.{ChangeColumns, ChangeReaders, ChangesTable, CompareRows}
import org.apache.spark.sql.parquetry.protocol.{ChangeKeys, ScanAnswer, Settings}
import org.apache.spark.sql.parquetry.table.{ParquetryTable, PushedPredicate}
import org.apache.spark.sql.parquetry.versions.Columns
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A table whose changes a stream reads: with the option `readChanges`, or by `spark.readStream.changes`. */
class ChangeStreamTable(of: ParquetryTable, more: Map[String, String]) extends Table with SupportsRead {
  override def name(): String = of.name()
  override def schema(): StructType = StructType(of.logical.fields ++ ChangeColumns.fields)
  override def columns(): Array[Column] = Columns.of(schema(), withIds = false)
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => {
    val all = new CaseInsensitiveStringMap((options.asCaseSensitiveMap().asScala.toMap ++ more).asJava)
    Settings.check("stream", all)
    new ChangeStreamScan(of, of.logical, Nil, all)
  }
}

object ChangeStreamTable {
  private val option = "readChanges"

  /** The changes of a table, if the options of a stream want them. */
  def wanted(table: ParquetryTable, options: CaseInsensitiveStringMap): Option[ChangeStreamTable] =
    Option.when(options.getBoolean(option, false))(new ChangeStreamTable(table.streamed, Map.empty))

  /** A relation with the columns of changes after its own. */
  def extended(r: StreamingRelationV2, table: ChangeStreamTable): StreamingRelationV2 =
    r.copy(table = table, output = r.output ++ ChangeColumns.fields.map(f => AttributeReference(f.name, f.dataType, f.nullable)()))

  /** The stream of changes that Spark has loaded by its own interface. */
  def ofChangelog(changes: ChangesTable): ChangeStreamTable = new ChangeStreamTable(changes.of.streamed,
    Map(option -> "true", "startingVersion" -> changes.first.toString, "keys" -> changes.keys.mkString(",")))
}

/** The scan of a stream of changes. `CompareRows`, a node above, compares its rows where they have to be. */
class ChangeStreamScan(table: ParquetryTable, required: StructType, pushed: Seq[PushedPredicate], options: CaseInsensitiveStringMap)
  extends StreamScan(table, required, pushed, options) {
  private lazy val readers = new ChangeReaders(table, required, pushed, options)
  override def readSchema(): StructType = readers.schema
  override def description(): String = s"changes of ${table.name()} (stream)"
  override lazy val readerFactory: PartitionReaderFactory = readers.factory
  override def partitions(answer: ScanAnswer): Array[InputPartition] = readers.partitions(answer)
  override def columnarSupportMode(): Scan.ColumnarSupportMode = readers.support

  def keys: Seq[String] = Option(options.get("keys")).fold(Seq.empty[String])(ChangeKeys.split)
    .flatMap(name => table.logical.fieldNames.find(_.equalsIgnoreCase(name)))
}

/** The scan of one batch. */
class BatchOfChanges(table: ParquetryTable, required: StructType, pushed: Seq[PushedPredicate], of: ChangeStreamScan)
  extends ChangeStreamScan(table, required, pushed, of.options)

object BatchOfChanges {
  /**
   * The plan of a batch. If its rows have to be compared, all columns are read and a comparison is put above.
   *
   * @param read the columns that the query reads
   * @param push the predicates that the planner gets of the query's conditions
   */
  def plan(r: StreamingDataSourceV2ScanRelation, scan: ChangeStreamScan, read: Set[String], push: => Seq[PushedPredicate]): LogicalPlan = {
    val stream = r.stream.asInstanceOf[TableStream]
    val compared = stream.compares(r.startOffset.get, r.endOffset.get)
    val schema = if (compared) scan.table.logical else StructType(scan.table.logical.filter(f => read(f.name)))
    val batch = new BatchOfChanges(scan.table, schema, if (compared) Nil else push, scan)
    val byName = r.output.map(a => a.name -> a).toMap
    val output = batch.readSchema().fieldNames.toSeq.map(byName)
    val kind = byName(ChangeColumns.Type)
    val raw = if (compared) kind.newInstance() else kind
    val leaf = r.copy(scan = batch, output = output.map(a => if (a.name == kind.name) raw else a), stream = stream.narrowedTo(batch))
    if (!compared) Project(r.output.filter(output.contains), leaf)
    else Project(r.output, CompareRows(scan.keys.map(byName), kind, leaf))
  }
}
