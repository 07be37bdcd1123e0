package org.apache.spark.sql.parquetry.scan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.command.ExplainCommand

/** What a plan is written for. Spark's UI has every query's text before it runs; EXPLAIN has one of what would be read. */
object Running {
  /** Whether a query of this thread is being run, and not explained. */
  def query(session: SparkSession): Boolean = (for {
    id <- Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
    running <- Option(SQLExecution.getQueryExecution(id.toLong))
  } yield !running.logical.isInstanceOf[ExplainCommand]).getOrElse(false)
}
