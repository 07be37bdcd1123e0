package org.apache.spark.sql.parquetry.rows

import org.json4s.JArray

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, In, IsNull, Literal, Or}
import org.apache.spark.sql.catalyst.plans.logical.{BinaryNode, Filter, LogicalPlan, Project, ReplaceData}
import org.apache.spark.sql.catalyst.util.RowDeltaUtils
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.{LogicalRDD, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.V2CommandExec
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.parquetry.audit.Audited
import org.apache.spark.sql.parquetry.table.Cached
import org.apache.spark.sql.parquetry.versions.WriteNodes.SupportsCustomDriverMetrics
import org.apache.spark.sql.parquetry.write.StatementReads

/**
 * The rows that a MERGE makes of the rows that it reads, without rows of files that it does not change.
 *
 * @param right gives the names of the files that it changes
 */
case class RowsOfChangedFiles(left: LogicalPlan, right: LogicalPlan) extends BinaryNode {
  override def output: Seq[Attribute] = left.output
  override protected def withNewChildrenInternal(newLeft: LogicalPlan, newRight: LogicalPlan): LogicalPlan = copy(newLeft, newRight)
}

/**
 * Hands the rows of a statement to the planner, which writes them like the rows of an INSERT.
 *
 * @param rows gives the table's columns, at the indices `places`, and others
 * @param changed gives the names of files to rewrite, or None for all that are read
 * @param reads see `StatementReads`
 */
case class RewriteRowsExec(rows: SparkPlan, changed: Option[SparkPlan], places: Seq[Int], write: RowsWrite, reads: JArray)
  extends V2CommandExec with SupportsCustomDriverMetrics {
  override lazy val customMetrics: Map[String, SQLMetric] = createCustomMetrics(write.supportedCustomMetrics())
  override def children: Seq[SparkPlan] = rows +: changed.toSeq
  override def output: Seq[Attribute] = Nil
  override def stringArgs: Iterator[Any] = Iterator(write.description())

  override protected def run(): Seq[InternalRow] = {
    val files = changed.map(_.executeCollect().map(_.getUTF8String(0).toString).toSeq)
    // from here on, the files that are read are known
    val made = LogicalRDD(rows.output, rows.execute())(session)
    val kept = files.fold[LogicalPlan](made) { names =>
      val file = rows.output.find(_.name == write.operation.table.fileColumn.name).get
      Filter(Or(IsNull(file), In(file, names.map(Literal(_)))), made) // inserted rows have no file
    }
    write.replace(Dataset.ofRows(session, Project(places.map(rows.output), kept)), files, reads)
    postDriverMetrics(write.reportDriverMetrics())
    Cached.refresh(write.operation.table)
    Nil
  }

  override protected def withNewChildrenInternal(fresh: IndexedSeq[SparkPlan]): RewriteRowsExec =
    copy(rows = fresh.head, changed = fresh.lift(1))
}

object RowsStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case ReplaceData(_, _, query, _, projections, _, Some(write: RowsWrite)) =>
      val (made, changed) = query match {
        case RowsOfChangedFiles(rows, changed) => (rows, Some(planLater(changed)))
        case _ => (query, None)
      }
      // Spark 4.0 writes hidden columns, too, if the statement names one of them; they come last
      val columns = projections.rowProjection.colOrdinals.take(write.operation.table.logical.length).map(made.output)
      val rows = withoutOperation(made, columns)
      val places = columns.map(column => rows.output.indexWhere(_.exprId == column.exprId))
      RewriteRowsExec(planLater(Audited.rowsOf(rows)), changed, places, write, StatementReads.of(query)) :: Nil
    case RowsOfChangedFiles(rows, _) => planLater(rows) :: Nil // of a statement that is explained and not run
    case _ => Nil
  }

  /** Without the column of each row's operation: an UPDATE would test its condition once more for it. */
  private def withoutOperation(rows: LogicalPlan, columns: Seq[Attribute]): LogicalPlan = rows match {
    case Project(all, child) =>
      Project(all.filter(each => each.name != RowDeltaUtils.OPERATION_COLUMN || columns.exists(_.exprId == each.exprId)), child)
    case other => other
  }
}
