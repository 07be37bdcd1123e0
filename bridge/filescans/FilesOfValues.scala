package org.apache.spark.sql.parquetry.filescans

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Attribute, AttributeReference, DynamicPruningExpression, Expression, ExprId, LeafExpression, Literal, Predicate, Unevaluable}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.execution.{InSubqueryExec, ScalarSubquery, SubqueryAdaptiveBroadcastExec, UnavailableValues}
import org.apache.spark.sql.types.DataType

/**
 * A condition on the number of a file: whether the runtime filters of a scan keep it. When the values have
 * arrived, the planner decides that once for all files.
 *
 * Spark binds the columns of such a condition to the values of partitions. The columns of the runtime filters
 * are none of those, so they are `ScanColumn`s here.
 *
 * @param number the column `number` of `files`
 * @param filters the runtime filters of the node
 */
case class FilesOfValues(number: Expression, filters: Seq[Expression], @transient files: ChosenFiles)
  extends Expression with Predicate with CodegenFallback {
  if (files != null) files.register(this)

  /** The filters as the scan knows them, with its columns. */
  def shown: Seq[Expression] = filters.map(FilesOfValues.shown)
  def mapFilters(change: Expression => Expression): FilesOfValues = copy(filters = shown.map(change).map(FilesOfValues.hidden))
  override def children: Seq[Expression] = number +: filters
  override def nullable: Boolean = false
  override def eval(row: InternalRow): Any = kept.contains(number.eval(row).asInstanceOf[Int])
  override def toString: String = shown.mkString("files of ", " AND ", "")
  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): FilesOfValues =
    copy(number = children.head, filters = children.tail)

  @transient private lazy val kept = files.kept(filters.flatMap(FilesOfValues.arrived(_, files)))
}

object FilesOfValues {
  private def shown(filter: Expression): Expression = filter.transform { case column: ScanColumn => column.attribute }

  /** A filter with columns that Spark does not bind to the values of partitions. */
  def hidden(filter: Expression): Expression =
    filter.transform { case column: AttributeReference => ScanColumn(column.name, column.dataType, column.nullable)(column.exprId) }

  /** A filter with its values, or None if it has none and prunes nothing. */
  private def arrived(filter: Expression, files: ChosenFiles): Option[Expression] = filter match {
    case DynamicPruningExpression(in: InSubqueryExec) =>
      Some(withValues(in, files)).filter(found => found.values().isDefined && !UnavailableValues.areIn(found)).map(shown)
    case DynamicPruningExpression(Literal.TrueLiteral) | Literal.TrueLiteral => None
    case DynamicPruningExpression(range) => Some(shown(evaluated(range)))
    case range => Some(shown(evaluated(range)))
  }

  /** The same filter of a copy that has the values. If none has, this one waits for them. */
  private def withValues(in: InSubqueryExec, files: ChosenFiles): InSubqueryExec =
    (in +: files.allFilters.flatMap(_.collect { case other: InSubqueryExec if other.exprId == in.exprId => other }))
      .find(found => found.values().isDefined || UnavailableValues.areIn(found)).getOrElse {
        if (!in.plan.isInstanceOf[SubqueryAdaptiveBroadcastExec]) in.updateResult()
        in
      }

  private def evaluated(range: Expression): Expression = range.transform { case value: ScalarSubquery =>
    if (Try(value.toLiteral).isFailure) value.updateResult()
    value.toLiteral
  }
}

/** A column of the scan, in a runtime filter. It has no value for a partition. */
case class ScanColumn(name: String, dataType: DataType, nullable: Boolean)(val exprId: ExprId) extends LeafExpression with Unevaluable {
  def attribute: Attribute = AttributeReference(name, dataType, nullable)(exprId)
  override protected def otherCopyArgs: Seq[AnyRef] = exprId :: Nil
  override def toString: String = name
}
