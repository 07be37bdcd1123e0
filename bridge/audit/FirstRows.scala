package org.apache.spark.sql.parquetry.audit

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, BoundReference, InterpretedOrdering, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{Distinct, GlobalLimit, LocalLimit, Project, Sort}
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.classic.{DataFrame, Dataset, SparkSession => ClassicSession}

/**
 * Finds a row that a query needs, among rows that it does not read.
 *
 * @param count the number of rows that the query needs, or of distinct values of the key
 * @param ties whether it needs all rows that equal the last one in the key, too
 * @param order the order of the rows, or None for any rows
 */
private class FirstRows(session: ClassicSession, count: Int, ties: Boolean, distinct: Boolean, order: Option[SortOrder]) {
  def missing(read: DataFrame, others: => DataFrame): Option[Row] = order match {
    case None => if (ScanAudit.internalRows(read.select().limit(count)).length >= count) None else one(others)
    case Some(order) =>
      val first = keys(read, order, count)
      if (first.length < count) one(others)
      else {
        val next = keys(others, order, 1)
        val key = BoundReference(0, order.dataType, nullable = true)
        val compared = next.headOption.map(new InterpretedOrdering(Seq(order.copy(child = key, sameOrderExpressions = Nil))).compare(_, first.last))
        if (compared.exists(c => c < 0 || (c == 0 && ties))) one(sorted(others, order)) else None
      }
  }

  private def one(rows: DataFrame): Option[Row] = ScanAudit.collected(rows.limit(1)).headOption

  /** The first values of the key, in order. */
  private def keys(rows: DataFrame, order: SortOrder, count: Int): Seq[InternalRow] = {
    val key = Alias(ScanAudit.bound(order.child, rows), "key")()
    val values = Project(Seq(key), rows.queryExecution.analyzed)
    val counted = if (distinct) Distinct(values) else values
    val ordered = Sort(Seq(order.copy(child = counted.output.head, sameOrderExpressions = Nil)), global = true, counted)
    ScanAudit.internalRows(Dataset.ofRows(session, GlobalLimit(Literal(count), LocalLimit(Literal(count), ordered))))
  }

  private def sorted(rows: DataFrame, order: SortOrder): DataFrame = Dataset.ofRows(session,
    Sort(Seq(order.copy(child = ScanAudit.bound(order.child, rows), sameOrderExpressions = Nil)), global = true, rows.queryExecution.analyzed))
}
