package org.apache.spark.sql.parquetry.readers

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.memory.MemoryMode
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitioningAwareFileIndex}
import org.apache.spark.sql.execution.datasources.orc.OrcOptions
import org.apache.spark.sql.execution.datasources.parquet.ParquetOptions
import org.apache.spark.sql.execution.datasources.v2.orc.{OrcPartitionReaderFactory, OrcScan}
import org.apache.spark.sql.execution.datasources.v2.parquet.{ParquetPartitionReaderFactory, ParquetScan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources
import org.apache.spark.sql.parquetry.table.{HiddenColumns, ParquetryTable, Schemas}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.util.SerializableConfiguration

/** Spark's readers of a table's files. */
class FileReaders(session: SparkSession, table: ParquetryTable, partitionSchema: StructType, dataSchema: StructType,
    hidden: HiddenColumns, options: CaseInsensitiveStringMap) {
  // Each sends the settings of the file systems to the executors.
  private lazy val unconditional = sparkReaders()
  /** For whatever conditions. */
  private lazy val conditional = sparkReaders()

  /**
   * The session's settings; but Parquet columns are read in batches where any has a default. Where a file lacks two columns, Spark's reader
   * of rows takes the last two to be the missing ones: those get a default instead of their values, and the others NULL instead of a default.
   * ORC's reader of rows parses each default once more for each row, so it reads none of those that are filled in here.
   */
  private lazy val conf = {
    val given = session.sessionState.conf
    if (defaults.isEmpty && (table.format == "orc" || !columns.exists(_.getExistenceDefaultValue().isDefined))) given
    else {
      val batched = given.clone()
      Seq(SQLConf.PARQUET_VECTORIZED_READER_ENABLED, SQLConf.PARQUET_VECTORIZED_READER_NESTED_COLUMN_ENABLED,
        SQLConf.PARQUET_VECTORIZED_READER_NULL_TYPE_ENABLED, SQLConf.ORC_VECTORIZED_READER_ENABLED,
        SQLConf.ORC_VECTORIZED_READER_NESTED_COLUMN_ENABLED).foreach(batched.setConf(_, true))
      batched
    }
  }
  private lazy val whole = StructType(table.physical.fields.zip(table.logical.fields).collect {
    case (p, l) if !table.partitionColumns.contains(l.name) => p
  })
  private lazy val columns = StructType(
    Schemas.physical(dataSchema, table.logical, table.physical).asInstanceOf[StructType].fields ++ hidden.counted)
  /** The defaults that Spark's readers of batches cannot fill in, by the places of their columns. */
  private lazy val defaults = FilledDefaults.fromSchema(columns)
  private lazy val read = FilledDefaults.without(columns, defaults.keySet)
  // readers go by place, and ORC's would convert a column of the same name that files hold, too
  private lazy val inPath = StructType(
    (partitionSchema.fields ++ hidden.read).zipWithIndex.map { case (f, i) => f.copy(name = s"parquetry.partition.$i") })

  private def sparkReaders(): PartitionReaderFactory = {
    val index: PartitioningAwareFileIndex = null // which files there are is no affair of a reader factory
    val hadoop = ReaderSettings.fromSession(session)
    val readers = table.format match {
      case "orc" => OrcScan(session, hadoop, index, whole, read, inPath, options, None, Array.empty, Nil, Nil).createReaderFactory() match {
        case orc: OrcPartitionReaderFactory => orc.copy(sqlConf = conf)
      }
      case _ => ParquetScan(session, hadoop, index, whole, read, inPath, Array.empty, options, None, Nil, Nil, Array.empty)
        .createReaderFactory()
    }
    if (conf.caseSensitiveAnalysis) inAnyCase(readers, hadoop) else readers
  }

  /** Names in files do not count in letter case, whatever the session says: so the planner looks up what is recorded of them. */
  private def inAnyCase(readers: PartitionReaderFactory, hadoop: Configuration): PartitionReaderFactory = {
    val other = conf.clone()
    other.setConf(SQLConf.CASE_SENSITIVE, false)
    readers match {
      case parquet: ParquetPartitionReaderFactory =>
        hadoop.setBoolean(SQLConf.CASE_SENSITIVE.key, false)
        parquet.copy(sqlConf = other, broadcastedConf = SerializableConfiguration.broadcast(session.sparkContext, hadoop))
      case orc: OrcPartitionReaderFactory => orc.copy(sqlConf = other)
    }
  }

  /** Whether Spark's readers give columns and not rows. Spark asks that while it plans, when nothing is to be sent yet. */
  lazy val columnar: Boolean = {
    val (unsent, given) = (null: Broadcast[SerializableConfiguration], options.asCaseSensitiveMap.asScala.toMap)
    val readers = table.format match {
      case "orc" => OrcPartitionReaderFactory(conf, unsent, whole, read, inPath, Array.empty, None, new OrcOptions(given, conf), MemoryMode.ON_HEAP)
      case _ => ParquetPartitionReaderFactory(conf, unsent, whole, read, inPath, Array.empty, None, new ParquetOptions(given, conf))
    }
    readers.supportColumnarReads(FilePartition(0, Array.empty))
  }

  /** @param rowGroups conditions by which readers leave out parts of files */
  def factory(rowGroups: Array[sources.Filter]): PartitionReaderFactory = {
    val own = s"pq-${table.id()}-"
    val (files, steps) = (if (rowGroups.isEmpty) unconditional else conditional) match {
      case parquet: ParquetPartitionReaderFactory =>
        val changed = new ChangedFiles(own, table.name(), table.sync, parquet.broadcastedConf)
        (parquet.copy(sqlConf = conf, filters = rowGroups), if (rowGroups.isEmpty) Seq(new BroadcastSettings(parquet.broadcastedConf), changed) else Seq(changed))
      case orc: OrcPartitionReaderFactory =>
        // it takes conditions by the session's rule, and of two fields within a struct that its files name alike would judge the other
        val usable = if (conf.caseSensitiveAnalysis) rowGroups.filter(_.v2references.forall(_.length == 1)) else rowGroups
        (orc.copy(filters = usable), Seq(new ChangedFiles(own, table.name(), table.sync, orc.broadcastedConf)))
    }
    val each = if (conf.v2BucketingPreserveOrderingOnCoalesceEnabled) new SeparateReaderFactory(files) else files
    val prepared = new PreparedReaderFactory(each, steps)
    val filled = if (defaults.isEmpty) prepared else new FilledDefaultsFactory(prepared, table.format == "orc", columns, defaults)
    hidden.joined(filled, dataSchema, partitionSchema)
  }
}
