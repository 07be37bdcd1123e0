package org.apache.spark.sql.parquetry

import scala.jdk.CollectionConverters._

import org.json4s._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.{InsertOnlyMerge, LogicalPlan}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.sources.InsertableRelation

/** Hands the rows of an INSERT to the planner, with the mode that Spark's statement came to. */
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
  /** What a statement reads whose rows come without the plan that makes them. */
  @volatile var reads = Option.empty[JArray]
  /** See `MergeSearch`; None: the rows are no MERGE's. */
  @volatile var searchedBy = Option.empty[Seq[String]]

  override def toInsertableRelation: InsertableRelation = (data: DataFrame, _: Boolean) =>
    wrote(Bridge.write(table.ref, table.inPlace(data), "write", table.identity ++ Seq[JField](
      "mode" -> JString(mode),
      "predicates" -> JArray(predicates.map(Json.ofExpression).toList),
      "write_options" -> Json.strings(info.options().asCaseSensitiveMap().asScala.toMap),
      Settings.field) ++ reads.map("reads" -> _) ++ searchedBy.map("searched_by" -> Json.strings(_)): _*))
  override def toStreaming: StreamingWrite = new StreamedRows(table, mode, info)
}

/** Tells the write of a MERGE that inserts alone that it is one; Spark plans it. */
object InsertsOfMerge extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    plan match {
      case InsertOnlyMerge(DataSourceV2Relation(table: ParquetryTable, _, _, _, _, _), _, Some(write: ParquetryWrite), Some(query)) =>
        write.searchedBy = Some(MergeSearch.ofInserts(table, query))
      case _ =>
    }
    Nil
  }
}
