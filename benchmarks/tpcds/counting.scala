package org.apache.spark.sql.parquetry.benchmarks

import java.util.{Collections, IdentityHashMap}
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.filter2.predicate.FilterApi
import org.apache.parquet.format.converter.ParquetMetadataConverter.NO_FILTER
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.DynamicPruning
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.datasources.{FilePartition, FileScanRDD, PartitionedFile, PartitioningAwareFileIndex}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFilters
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.internal.{LegacyBehaviorPolicy, SQLConf}
import org.apache.spark.sql.parquetry.readers.{HasReaders, PreparedReaderFactory}
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.sources.Filter

/** Reads of a query's scans from fact tables, by Parquet's own judgement of the row groups. */
object ScansRead {
  private val footers = new ConcurrentHashMap[String, ParquetMetadata]

  /** @param facts of each fact table a column that only it has, and its name */
  def of(data: DataFrame, facts: java.util.Map[String, String]): String = {
    val rows = data.asInstanceOf[Dataset[_]]
    val reading = new Reading(rows.sparkSession.sessionState.newHadoopConf(), rows.sparkSession.sessionState.conf)
    def fact(names: Array[String]) = names.flatMap(name => Option(facts.get(name))).headOption
    val found = nodes(rows.queryExecution.executedPlan).flatMap {
      case node: BatchScanExec => node.scan match {
        case scan: ParquetryScan if node.metrics.get("filesKept").exists(_.value > 0) =>
          fact(scan.table.logical.fieldNames).map(ours(_, node, scan, reading))
        case _ => None
      }
      case node: FileSourceScanExec if node.metrics("numFiles").value > 0 =>
        fact(node.relation.schema.fieldNames).map(sparks(_, node, reading))
      case _ => None
    }
    compact(JArray(found.toList))
  }

  private def ours(table: String, node: BatchScanExec, scan: ParquetryScan, reading: Reading): JValue = {
    val pieces = node.filteredPartitions.flatten.collect { case part: FilePartition =>
      val own = part match {
        case found: HasReaders => found.readers.flatMap(filters)
        case _ => None
      }
      part.files.map(_ -> own.getOrElse(scan.rowGroupFilters).toSeq)
    }.flatten
    val columns = scan.readSchema().fieldNames.filterNot(scan.table.partitionColumns.contains)
    told(table, columns, pieces, reading) ~ ("report" -> scan.report)
  }

  private def filters(factory: PartitionReaderFactory): Option[Array[Filter]] = factory match {
    case parquet: ParquetPartitionReaderFactory => Some(parquet.filters)
    case prepared: PreparedReaderFactory => filters(prepared.inner)
    case _ => None
  }

  private def sparks(table: String, node: FileSourceScanExec, reading: Reading): JValue = {
    // protected, so that only its class files let it be read
    val filters = node.getClass.getMethod("pushedDownFilters").invoke(node).asInstanceOf[Seq[Filter]]
    val pieces = node.inputRDD.asInstanceOf[FileScanRDD].filePartitions.flatMap(_.files).map(_ -> filters)
    val listed = node.relation.location match {
      case index: PartitioningAwareFileIndex => index.partitionSpec().partitions.size
      case _ => 0
    }
    told(table, node.requiredSchema.fieldNames, pieces, reading) ~ ("listed" -> JInt(listed)) ~
      ("partitions" -> JInt(node.metrics.get("numPartitions").fold(0L)(_.value))) ~
      ("pruned" -> JBool(node.partitionFilters.exists(_.exists(_.isInstanceOf[DynamicPruning]))))
  }

  private implicit class Fields(left: JObject) {
    def ~(field: JField): JObject = JObject(left.obj :+ field)
  }

  private def told(
      table: String, columns: Array[String], pieces: Seq[(PartitionedFile, Seq[Filter])], reading: Reading): JObject = {
    val read = pieces.asJava.parallelStream().map[Piece] { case (file, filters) => reading.piece(file, filters, columns.toSet) }
      .toArray.toSeq.asInstanceOf[Seq[Piece]]
    val opened = read.groupBy(_.path)
    val needed = opened.filter(_._2.exists(_.kept > 0))
    def bytes(files: Map[String, Seq[Piece]]) = JInt(files.values.flatten.map(_.bytes).sum)
    JObject(
      "table" -> JString(table),
      "columns" -> JArray(columns.sorted.map(JString(_)).toList),
      "files" -> JInt(opened.size),
      "bytes" -> bytes(opened),
      "needed_files" -> JInt(needed.size),
      "needed_bytes" -> bytes(needed),
      "row_groups" -> JInt(read.map(_.kept).sum),
      "all_row_groups" -> JInt(read.map(_.of).sum),
      "column_bytes" -> JInt(read.map(_.columnBytes).sum))
  }

  /** A part of a file that a task reads: its row groups, and the row groups that its reader keeps. */
  private case class Piece(path: String, bytes: Long, kept: Int, of: Int, columnBytes: Long)

  private class Reading(hadoop: Configuration, conf: SQLConf) {
    def piece(file: PartitionedFile, filters: Seq[Filter], columns: Set[String]): Piece = {
      val path = file.toPath
      val input = HadoopInputFile.fromPath(path, hadoop)
      val footer = footers.computeIfAbsent(path.toString, _ => ParquetFileReader.readFooter(hadoop, path, NO_FILTER))
      val within = footer.getBlocks.asScala.filter(in(_, file.start, file.start + file.length))
      val schema = footer.getFileMetaData.getSchema
      val translated = new ParquetFilters(schema, conf.parquetFilterPushDownDate, conf.parquetFilterPushDownTimestamp,
        conf.parquetFilterPushDownDecimal, conf.parquetFilterPushDownStringPredicate, conf.parquetFilterPushDownInFilterThreshold,
        conf.caseSensitiveAnalysis, RebaseSpec(LegacyBehaviorPolicy.CORRECTED), None)
      val kept = filters.flatMap(translated.createFilter).reduceOption(FilterApi.and) match {
        case Some(condition) if within.nonEmpty =>
          val options = HadoopReadOptions.builder(hadoop, path).withRecordFilter(FilterCompat.get(condition)).build()
          val reader = ParquetFileReader.open(
            input, new ParquetMetadata(footer.getFileMetaData, within.asJava), options, input.newStream())
          try reader.getRowGroups.asScala.toSeq finally reader.close()
        case _ => within.toSeq
      }
      Piece(path.toString, file.length, kept.size, within.size, kept.flatMap(_.getColumns.asScala)
        .filter(chunk => columns(chunk.getPath.toArray.head)).map(_.getTotalSize).sum)
    }

    private def in(block: BlockMetaData, start: Long, end: Long): Boolean = {
      val middle = block.getStartingPos + block.getCompressedSize / 2
      start <= middle && middle < end
    }
  }

  /** The nodes of a plan that ran, each once: also stages without rows, which adaptive execution removed. */
  private def nodes(plan: SparkPlan): Seq[SparkPlan] = {
    val seen = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
    val found = Seq.newBuilder[SparkPlan]
    def visit(plan: SparkPlan): Unit = if (seen.add(plan)) {
      found += plan
      (plan match {
        case adaptive: AdaptiveSparkPlanExec => Seq(adaptive.executedPlan)
        case stage: QueryStageExec => Seq(stage.plan)
        case reused: ReusedExchangeExec => Seq(reused.child)
        case reused: ReusedSubqueryExec => Seq(reused.child)
        case empty: EmptyRelationExec => empty.logical.collect { case stage: LogicalQueryStage => stage.physicalPlan }
        case other => other.children
      }).foreach(visit)
      plan.subqueries.foreach(visit)
    }
    visit(plan)
    found.result()
  }
}
