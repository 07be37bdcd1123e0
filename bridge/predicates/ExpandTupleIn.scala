package org.apache.spark.sql.parquetry.predicates

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.parquetry.protocol.Bridge
import org.apache.spark.sql.parquetry.table.{ParquetryTable, TableRelation}
import org.apache.spark.sql.types.{AtomicType, StructType}

/**
 * Expands `(x, y) IN ((1, 'a'), (2, NULL))` to `x <=> 1 AND y <=> 'a' OR x <=> 2 AND y <=> NULL`. Both mean
 * the same: Spark compares the tuples as structs, whose NULLs are equal, and which are never NULL themselves.
 * Spark offers no condition on a struct to a data source, but it offers the expanded one.
 *
 * Tuples of partition columns alone are not expanded: they are evaluated over the partitions' values. Long
 * lists are not expanded either: an IN takes less time on a row.
 */
object ExpandTupleIn extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case f @ Filter(condition, TableRelation(table: ParquetryTable)) =>
      val found = condition.transform {
        case e @ In(Columns(columns), list) if areInFiles(columns, table) => byColumns(columns, list.map(values), e)
        case e @ InSet(Columns(columns), set) if areInFiles(columns, table) =>
          byColumns(columns, set.toSeq.map(row => literals(row, e.child.dataType)), e)
      }
      if (found fastEquals condition) f else f.copy(condition = found)
  }

  private object Columns {
    def unapply(e: Expression): Option[Seq[Attribute]] = e match {
      case struct: CreateNamedStruct =>
        val columns = struct.valExprs.collect { case a: Attribute if a.dataType.isInstanceOf[AtomicType] => a }
        if (columns.length == struct.valExprs.length) Some(columns) else None
      case _ => None
    }
  }

  private def areInFiles(columns: Seq[Attribute], table: ParquetryTable): Boolean =
    columns.exists(a => !table.partitionColumns.contains(a.name))

  /** The literals of a tuple, or None if the expression is something else, or NULL as a whole. */
  private def values(e: Expression): Option[Seq[Literal]] = e match {
    case Literal(row, type_) => literals(row, type_)
    case struct: CreateNamedStruct =>
      val found = struct.valExprs.collect { case l: Literal => l }
      if (found.length == struct.valExprs.length) Some(found) else None
    case _ => None
  }

  private def literals(row: Any, type_ : Any): Option[Seq[Literal]] = (row, type_) match {
    case (row: InternalRow, struct: StructType) =>
      Some(struct.fields.indices.map(i => Literal(row.get(i, struct(i).dataType), struct(i).dataType)))
    case _ => None
  }

  private def byColumns(columns: Seq[Attribute], tuples: Seq[Option[Seq[Literal]]], e: Expression): Expression =
    if (tuples.isEmpty || tuples.length > Bridge.terms.limits.expandedTuples || tuples.exists(!_.exists(_.length == columns.length))) e
    else BalancedChains.any(tuples.flatten.map(tuple => columns.zip(tuple).map { case (c, l) => EqualNullSafe(c, l) }.reduce[Expression](And(_, _)))).get
}
