package org.apache.spark.sql.parquetry

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.execution.datasources.v2.orc.{OrcPartitionReaderFactory, OrcScan}
import org.apache.spark.sql.execution.datasources.v2.parquet.{ParquetPartitionReaderFactory, ParquetScan}
import org.apache.spark.sql.sources
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Spark's readers of a table's files. */
class FileReaders(session: SparkSession, table: ParquetryTable, partitionSchema: StructType, dataSchema: StructType,
    hidden: HiddenColumns, options: CaseInsensitiveStringMap) {
  /** Spark's own, for whatever conditions: for each that it makes it sends the settings of the file systems to the executors. */
  private lazy val unconditional: PartitionReaderFactory = {
    val index: PartitioningAwareFileIndex = null // which files there are is no affair of a reader factory
    val whole = StructType(table.physical.fields.zip(table.logical.fields).collect {
      case (p, l) if !table.partitionColumns.contains(l.name) => p
    })
    val read = StructType(Schemas.physical(dataSchema, table.logical, table.physical).asInstanceOf[StructType].fields ++ hidden.counted)
    // readers go by place, and ORC's would convert a column of the same name that files hold, too
    val inPath = StructType((partitionSchema.fields ++ hidden.read).zipWithIndex.map { case (f, i) => f.copy(name = s"parquetry.partition.$i") })
    val hadoop = session.sessionState.newHadoopConf()
    table.format match {
      case "orc" => OrcScan(session, hadoop, index, whole, read, inPath, options, None, Array.empty, Nil, Nil).createReaderFactory()
      case _ => ParquetScan(session, hadoop, index, whole, read, inPath, Array.empty, options, None, Nil, Nil, Array.empty)
        .createReaderFactory()
    }
  }

  /** @param rowGroups conditions by which readers leave out parts of files */
  def factory(rowGroups: Array[sources.Filter]): PartitionReaderFactory = {
    val files = unconditional match {
      case parquet: ParquetPartitionReaderFactory => parquet.copy(filters = rowGroups)
      case orc: OrcPartitionReaderFactory => orc.copy(filters = rowGroups)
      case other => other
    }
    val unchanged = ChangedFiles.of(files, table).fold(files)(new UnchangedReaderFactory(files, _))
    hidden.joined(unchanged, dataSchema, partitionSchema)
  }
}
