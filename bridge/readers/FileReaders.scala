package org.apache.spark.sql.parquetry.readers

import java.sql.Timestamp
import java.time.{Instant, LocalDateTime}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.memory.MemoryMode
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitioningAwareFileIndex}
import org.apache.spark.sql.execution.datasources.orc.OrcOptions
import org.apache.spark.sql.execution.datasources.parquet.ParquetOptions
import org.apache.spark.sql.execution.datasources.v2.orc.{OrcPartitionReaderFactory, OrcScan}
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.hash.OrcTimes
import org.apache.spark.sql.sources
import org.apache.spark.sql.parquetry.table.{HiddenColumns, ParquetryTable, Schemas}
import org.apache.spark.sql.parquetry.versions.{Bucketing, Capabilities, ParquetReaders}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.util.SerializableConfiguration

/** Spark's readers of a table's files. */
class FileReaders(session: SparkSession, table: ParquetryTable, partitionSchema: StructType, dataSchema: StructType,
    hidden: HiddenColumns, options: CaseInsensitiveStringMap) {
  private lazy val unconditional = sparkReaders(isFiltered = false)
  /** For any filters on row groups; `factory` puts them in. */
  private lazy val conditional = sparkReaders(isFiltered = true)

  /**
   * The session's settings, except that readers use batches if any column has a default. If a file lacks two
   * columns, Spark's row reader for Parquet takes the last two for the missing ones. These get a default
   * instead of their values, and the missing ones NULL instead of a default. For ORC only defaults that are
   * filled in here count: its row reader would parse such a default anew for each row.
   */
  private lazy val conf = {
    val given = session.sessionState.conf
    if (defaults.isEmpty && (table.format == "orc" || !columns.exists(_.getExistenceDefaultValue().isDefined))) given
    else {
      val batched = given.clone()
      (ParquetReaders.batches ++ Seq(SQLConf.ORC_VECTORIZED_READER_ENABLED, SQLConf.ORC_VECTORIZED_READER_NESTED_COLUMN_ENABLED))
        .foreach(batched.setConf(_, true))
      batched
    }
  }
  // Spark's readers know no CHAR and VARCHAR: without code generation they fail, and ORC's trims their texts.
  private lazy val whole = CharVarcharUtils.replaceCharVarcharWithStringInSchema(StructType(
    table.physical.fields.zip(table.logical.fields).collect { case (p, l) if !table.partitionColumns.contains(l.name) => p }))
  private lazy val columns = CharVarcharUtils.replaceCharVarcharWithStringInSchema(StructType(
    Schemas.physical(dataSchema, table.logical, table.physical).asInstanceOf[StructType].fields ++ hidden.counted))
  /** The defaults that Spark's batch readers cannot fill in, by the indices of their columns. */
  private lazy val defaults = FilledDefaults.fromSchema(columns)
  private lazy val read = FilledDefaults.without(columns, defaults.keySet)
  // readers go by index, so names are free; ORC's reader would also convert a column of the same name in the
  // files
  private lazy val inPath = StructType(
    (partitionSchema.fields ++ hidden.read).zipWithIndex.map { case (f, i) => f.copy(name = s"parquetry.partition.$i") })

  /**
   * Spark's readers. They match names in files in any letter case, in all sessions: the planner finds their
   * statistics in the same way.
   */
  private def sparkReaders(isFiltered: Boolean): PartitionReaderFactory = table.format match {
    case "orc" => orcReaders()
    case _ => parquetReaders(ScanSettings.parquet(session, read, inAnyCase = conf.caseSensitiveAnalysis, isFiltered))
  }

  private def parquetReaders(settings: Broadcast[SerializableConfiguration]): ParquetPartitionReaderFactory =
    ParquetPartitionReaderFactory(conf, settings, whole, read, inPath, Array.empty, None, new ParquetOptions(given, conf))

  private def orcReaders(): PartitionReaderFactory = {
    val index: PartitioningAwareFileIndex = null // a reader factory needs no list of files
    val hadoop = ReaderSettings.fromSession(session)
    OrcTimes.setCalendar(hadoop)
    OrcScan(session, hadoop, index, whole, read, inPath, options, None, Array.empty, Nil, Nil).createReaderFactory() match {
      case orc: OrcPartitionReaderFactory if conf.caseSensitiveAnalysis =>
        val other = conf.clone()
        other.setConf(SQLConf.CASE_SENSITIVE, false)
        orc.copy(sqlConf = other)
      case orc: OrcPartitionReaderFactory => orc.copy(sqlConf = conf)
    }
  }

  private def given: Map[String, String] = options.asCaseSensitiveMap.asScala.toMap

  /**
   * Whether Spark's readers give batches, not rows. Spark asks while it plans, so no settings are sent for
   * the answer.
   */
  lazy val columnar: Boolean = {
    val unsent: Broadcast[SerializableConfiguration] = null
    val readers = table.format match {
      case "orc" => OrcPartitionReaderFactory(conf, unsent, whole, read, inPath, Array.empty, None, new OrcOptions(given, conf), MemoryMode.ON_HEAP)
      case _ => parquetReaders(unsent)
    }
    readers.supportColumnarReads(FilePartition(0, Array.empty))
  }

  /**
   * @param rowGroups filters for readers to skip row groups
   * @param atOnce whether a task has several files open at once
   */
  def factory(rowGroups: Array[sources.Filter], atOnce: Boolean): PartitionReaderFactory = {
    val own = s"pq-${table.id()}-"
    val (files, steps) = (if (rowGroups.isEmpty) unconditional else conditional) match {
      case parquet: ParquetPartitionReaderFactory =>
        val changed = new ChangedFiles(own, table.name(), table.sync, parquet.broadcastedConf)
        (FittingFilterReaders(parquet.copy(filters = FittingFilters.inAnyUnit(rowGroups)), own), Seq(changed))
      case orc: OrcPartitionReaderFactory =>
        // it resolves filters by the session's case rule, and if a struct's fields in a file have names that
        // differ only in case, it would apply a filter to the wrong field
        val usable = if (conf.caseSensitiveAnalysis) rowGroups.filter(_.v2references.forall(_.length == 1)) else rowGroups
        val found = if (Capabilities.findsTimesInOrc) usable else usable.filterNot(FileReaders.comparesTimes)
        (orc.copy(filters = found), Seq(new ChangedFiles(own, table.name(), table.sync, orc.broadcastedConf)))
    }
    val each = if (atOnce || Bucketing.mergesSortedFiles(conf)) new SeparateReaderFactory(files) else files
    val prepared = new PreparedReaderFactory(each, steps)
    val filled = if (defaults.isEmpty) prepared else new FilledDefaultsFactory(prepared, table.format == "orc", columns, defaults)
    hidden.joined(filled, dataSchema, partitionSchema)
  }
}

private object FileReaders {
  /** Whether a filter has a time to compare a column with. */
  def comparesTimes(filter: sources.Filter): Boolean = filter.asInstanceOf[Product].productIterator.exists {
    case part: sources.Filter => comparesTimes(part)
    case values: Array[_] => values.exists(isTime)
    case value => isTime(value)
  }

  private def isTime(value: Any): Boolean = value match {
    case _: Timestamp | _: Instant | _: LocalDateTime => true
    case _ => false
  }
}
