package org.apache.spark.sql.parquetry.datafiles

import org.apache.hadoop.mapreduce.Job
import org.apache.parquet.hadoop.ParquetOutputFormat
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.datasources.OutputWriterFactory
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/**
 * Writes timestamps as INT64 microseconds. Spark's default is INT96, and Parquet keeps no statistics for it.
 * Columns get field ids (`FieldNumbers`).
 */
class StatisticsFriendlyParquet extends ParquetFileFormat {
  override def prepareWrite(session: SparkSession, job: Job, options: Map[String, String],
      schema: StructType): OutputWriterFactory = {
    val factory = super.prepareWrite(session, job, options, schema)
    job.getConfiguration.set(SQLConf.PARQUET_OUTPUT_TIMESTAMP_TYPE.key, "TIMESTAMP_MICROS")
    ParquetOutputFormat.setWriteSupportClass(job, classOf[NumberedWriteSupport])
    factory
  }
}
