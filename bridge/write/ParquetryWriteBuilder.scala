package org.apache.spark.sql.parquetry.write

import scala.jdk.CollectionConverters._

import org.json4s._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.parquetry.protocol.{Bridge, Json, Settings}
import org.apache.spark.sql.parquetry.streaming.StreamedRows
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.sources.InsertableRelation

/** Hands the rows of an INSERT to the planner, with the mode that Spark chose for the statement. */
class ParquetryWriteBuilder(table: ParquetryTable, info: LogicalWriteInfo)
  extends WriteBuilder with SupportsOverwriteV2 with SupportsDynamicOverwrite {

  private var mode = if (info.options().getBoolean(DynamicOverwrite.option, false)) "dynamic" else "append"
  private var predicates = Array.empty[Predicate]

  override def truncate(): WriteBuilder = { mode = "truncate"; this }
  override def overwrite(where: Array[Predicate]): WriteBuilder = { mode = "overwrite"; predicates = where; this }
  override def overwriteDynamicPartitions(): WriteBuilder = { mode = "dynamic"; this }

  override def build(): Write = new ParquetryWrite(table, mode, predicates, info)
}

class ParquetryWrite(table: ParquetryTable, mode: String, predicates: Array[Predicate], info: LogicalWriteInfo) extends V1Write with ShownWrite {
  /**
   * The tables that the statement reads (see `StatementReads`), if its rows come without the plan that makes
   * them.
   */
  @volatile var reads = Option.empty[JArray]
  /** See `RecordMergeSearch`; None if no MERGE makes the rows. */
  @volatile var searchedBy = Option.empty[Seq[String]]

  override def toInsertableRelation: InsertableRelation = (data: DataFrame, _: Boolean) =>
    wrote(Bridge.write(table.ref, table.inPlace(data), "write", table.identity ++ Seq[JField](
      "mode" -> JString(mode),
      "predicates" -> JArray(predicates.map(Json.ofExpression).toList),
      "write_options" -> Json.strings(info.options().asCaseSensitiveMap().asScala.toMap),
      Settings.field) ++ reads.map("reads" -> _) ++ searchedBy.map("searched_by" -> Json.strings(_)): _*))
  override def toStreaming: StreamingWrite = new StreamedRows(table, mode, info)
}
