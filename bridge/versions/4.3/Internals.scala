package org.apache.spark.sql.parquetry.versions

import org.apache.hadoop.conf.Configuration
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{
  Add, DateAddInterval, EvalMode, Expression, NumericEvalContext, Subtract, TimestampAddInterval}
import org.apache.spark.sql.catalyst.plans.logical.MergeRows
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.execution.datasources.v2.parquet.{ParquetPartitionReaderFactory, ParquetScan}
import org.apache.spark.sql.execution.streaming.checkpointing.HDFSMetadataLog
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.util.SerializableConfiguration

/** The clauses of a MERGE. */
object MergeClauses {
  /** The instructions that apply a clause. The others only copy a row. */
  def applied(instructions: Seq[MergeRows.Instruction]): Seq[MergeRows.Instruction] =
    instructions.filter { case keep: MergeRows.Keep => keep.context != MergeRows.Copy; case _ => true }
}

/** Sums of columns. */
object Sums {
  private val attempt = NumericEvalContext(EvalMode.TRY)

  def is(e: Expression): Boolean = e match {
    case _: Add | _: Subtract | _: TimestampAddInterval | _: DateAddInterval => true
    case _ => false
  }

  /** An expression whose sums are NULL if they overflow. */
  def tried(e: Expression): Expression =
    e.transform { case add: Add => add.copy(evalContext = attempt); case sub: Subtract => sub.copy(evalContext = attempt) }
}

/** Spark's readers of Parquet. */
object ParquetReaders {
  /** Settings: readers give batches of all types that they can. */
  val batches: Seq[ConfigEntry[Boolean]] = Seq(SQLConf.PARQUET_VECTORIZED_READER_ENABLED,
    SQLConf.PARQUET_VECTORIZED_READER_NESTED_COLUMN_ENABLED, SQLConf.PARQUET_VECTORIZED_READER_NULL_TYPE_ENABLED)

  /**
   * The settings of readers, for no columns, sent to the executors. Spark's scan adds its own settings to the
   * settings of file systems.
   */
  def settings(session: SparkSession, hadoop: Configuration): Broadcast[SerializableConfiguration] = {
    val (index, none, options) = (null: PartitioningAwareFileIndex, new StructType, CaseInsensitiveStringMap.empty)
    ParquetScan(session, hadoop, index, none, none, none, Array.empty, options, None, Nil, Nil, Array.empty).createReaderFactory() match {
      case readers: ParquetPartitionReaderFactory => readers.broadcastedConf
    }
  }
}

/** Logs and cached data of a session. */
object Kept {
  type MetadataLog[T <: AnyRef] = HDFSMetadataLog[T]

  /** Caches data of a table anew. */
  def recache(session: classic.SparkSession, name: Seq[String]): Unit =
    session.sharedState.cacheManager.recacheTableOrView(session, name, false)
}
