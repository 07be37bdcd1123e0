package org.apache.spark.sql.parquetry.streaming

import org.json4s.JBool

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression}
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Strategy, StreamingDataSourceV2ScanRelation}
import org.apache.spark.sql.parquetry.changes.ExpandChanges
import org.apache.spark.sql.parquetry.table.{ParquetryTable, PushedPredicate}
import org.apache.spark.sql.types.{StructField, StructType}

/** Marks tables that a stream reads: their scans are `StreamScan`s. */
object MarkStreamedTables extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = if (!plan.isStreaming) plan else plan.resolveOperators {
    case r: StreamingRelationV2 => r.table match {
      case table: ParquetryTable => ChangeStreamTable.wanted(table, r.extraOptions)
        .fold[LogicalPlan](r.copy(table = table.streamed))(ChangeStreamTable.extended(r, _))
      case other => ExpandChanges.changes(other).fold[LogicalPlan](r)(found => r.copy(table = ChangeStreamTable.ofChangelog(found)))
    }
  }
}

/**
 * Prunes the columns of a batch's scan, and pushes conditions into it, as Spark does for scans that are no
 * streams. Spark evaluates all conditions again.
 */
object PruneStreamColumns extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = if (!plan.isStreaming) plan else plan.transformDown {
    case p @ PhysicalOperation(projects, filters, r: StreamingDataSourceV2ScanRelation) if wide(r) =>
      val used = AttributeSet(projects.flatMap(_.references) ++ filters.flatMap(_.references))
      val narrow = r.scan match {
        case changes: ChangeStreamScan => BatchOfChanges.plan(r, changes, used.map(_.name).toSet, offered(changes, filters))
        case _ => narrowed(r, used, filters)
      }
      p.transformDown { case same if same eq r => narrow }
  }

  private def wide(r: StreamingDataSourceV2ScanRelation): Boolean = r.scan.isInstanceOf[StreamScan] && r.startOffset.isDefined &&
    r.stream.isInstanceOf[TableStream] && !r.scan.isInstanceOf[NarrowScan] && !r.scan.isInstanceOf[BatchOfChanges]

  private def offered(scan: StreamScan, filters: Seq[Expression]): Seq[PushedPredicate] = {
    val some = filters.filter(_.deterministic).flatMap(f => DataSourceV2Strategy.translateFilterV2(f))
      .filterNot(_.references().exists(r => scan.table.isHidden(r) || !scan.table.logical.fieldNames.contains(r.fieldNames().head)))
    if (some.isEmpty) Nil else scan.table.judge(some, scan.options, "streaming" -> JBool(true))
  }

  private def narrowed(r: StreamingDataSourceV2ScanRelation, used: AttributeSet,
      filters: Seq[Expression]): LogicalPlan = {
    val scan = r.scan.asInstanceOf[StreamScan]
    val table = scan.table
    val read = r.output.filter(used.contains)
    val narrow = new NarrowScan(
      table, StructType(read.map(a => StructField(a.name, a.dataType, a.nullable, a.metadata))), offered(scan, filters), scan, filters)
    val byName = read.map(a => a.name -> a).toMap
    val leaf = r.copy(scan = narrow, output = narrow.readSchema().fieldNames.toSeq.map(byName),
      stream = r.stream.asInstanceOf[TableStream].narrowedTo(narrow))
    // the reader gives partition columns last, at any position in the table
    if (leaf.output == read) leaf else Project(read, leaf)
  }
}

/** @param conditions the query's conditions on the scan's rows, for an audit */
class NarrowScan(table: ParquetryTable, required: StructType, pushed: Seq[PushedPredicate], of: StreamScan, val conditions: Seq[Expression])
  extends StreamScan(table, required, pushed, of.options)
