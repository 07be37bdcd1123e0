package org.apache.spark.sql.parquetry.statements

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.v2.DescribeColumnExec
import org.apache.spark.sql.parquetry.scan.{KnownColumn, ScanRequest}
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.versions.Description
import org.apache.spark.sql.types.{BinaryType, StringType}

/**
 * `DESCRIBE` shows partition columns as such, for tables with buckets, too. `DESCRIBE EXTENDED` adds the
 * planner's details after Spark's own rows. For a column it adds what the metastore knows of the column's
 * values.
 */
object DescribeStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case Description(r @ ResolvedTable(_, _, t: ParquetryTable, _), extended, output)
        if t.isArranged && t.partitionColumns.nonEmpty || extended && t.details.nonEmpty =>
      val shown = if (t.partitionColumns.isEmpty) r else r.copy(table = t.byColumns)
      DescribeCommand(shown, if (extended) t.details else Nil, extended, output)
    case DescribeColumn(ResolvedTable(_, _, t: ParquetryTable, _), column: Attribute, true, output) =>
      DescribeColumnCommand(t, column, output)
  }
}

/**
 * Spark's own rows, and the rows that Spark shows for an analyzed column of its own tables; unknown values
 * are NULL.
 */
case class DescribeColumnCommand(table: ParquetryTable, column: Attribute, override val output: Seq[Attribute])
  extends LeafRunnableCommand {
  override def producedAttributes: AttributeSet = super.producedAttributes + column // of the table, which is no child
  override def run(session: SparkSession): Seq[Row] = {
    val builtIn = DescribeColumnExec(output, column, isExtended = false, table).executeCollect().toSeq
    val toRow = CatalystTypeConverters.createToScalaConverter(DataTypeUtils.fromAttributes(output))
    val known = new KnownColumn(table, column.name)
    val values = Seq("min" -> known.least, "max" -> known.greatest, "num_nulls" -> known.nulls)
    val rows = // without any value: as for a column that was not analyzed
      if (values.forall(_._2.isEmpty)) Nil
      else values ++ estimates ++ Seq("histogram" -> None)
    builtIn.map(toRow(_).asInstanceOf[Row]) ++ rows.map { case (name, value) => Row(name, value.getOrElse("NULL")) }
  }

  /** The column's estimates for the optimizer. Spark shows such rows after `ANALYZE TABLE`. */
  private def estimates: Seq[(String, Option[String])] = {
    val found = ScanRequest.estimate(table, Seq(column.name)).columns.headOption
    Seq("distinct_count" -> found.map(_.distinct), "avg_col_len" -> found.map(each => each.length.getOrElse(fixed)),
      "max_col_len" -> found.filter(_ => !isText).map(_ => fixed)).map { case (name, value) => name -> value.map(_.toString) }
  }
  private def fixed: Long = column.dataType.defaultSize.toLong
  private def isText: Boolean = column.dataType match {
    case _: StringType | BinaryType => true
    case _ => false
  }
}

case class DescribeCommand(
    found: ResolvedTable, details: Seq[(String, String)], extended: Boolean, override val output: Seq[Attribute])
  extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    val plan = Description.of(output, found.catalog.name(), found.identifier, found.table, extended)
    val toRow = CatalystTypeConverters.createToScalaConverter(DataTypeUtils.fromAttributes(output))
    plan.executeCollect().toSeq.map(toRow(_).asInstanceOf[Row]) ++
      (if (details.isEmpty) Nil else ("", "") +: ("# Storage Information", "") +: details).map { case (name, text) => Row(name, text, "") }
  }
}
