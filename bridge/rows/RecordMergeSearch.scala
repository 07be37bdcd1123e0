package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.LeftAnti
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.parquetry.predicates.PartitionPredicates
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.types.{DataType, IntegralType}

/**
 * Records the search columns of a MERGE that inserts rows: the partition columns that ON compares with the
 * values of the inserted row. Only partitions with these values may hold a match of the row. A row is
 * inserted if no partition that was read had a match.
 *
 * {{{
 * ON t.day = s.day AND t.id = s.id … WHEN NOT MATCHED THEN INSERT *                         day
 * ON t.id = s.id … WHEN NOT MATCHED THEN INSERT *                                           none: all partitions were searched
 * ON t.day = s.day … WHEN NOT MATCHED THEN INSERT (day, id) VALUES (current_date(), s.id)   none
 * }}}
 */
object RecordMergeSearch extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case r: ReplaceData if GuardRowConditions.isOurs(r) =>
        val operation = r.operation.asInstanceOf[RowsOperation]
        operation.searchedBy = r.query.collectFirst { case m: MergeRows => m }.filter(_.notMatchedInstructions.nonEmpty).flatMap {
          case m @ MergeRows(_, _, _, _, _, _, _, Join(target, _, _, Some(on), _)) => Some(searchColumns(operation.table, target, on, inserted(m)))
          case _ => None
        }
      case _ =>
    }
    plan
  }

  /** The search columns of a MERGE that only inserts; Spark plans it as an append. */
  def insertColumns(table: ParquetryTable, query: LogicalPlan): Seq[String] = query.collectFirst {
    case p @ Project(values, Join(_, target, LeftAnti, Some(on), _)) =>
      searchColumns(table, target, on, Seq(p.output.map(_.name).zip(values.map { case Alias(value, _) => value; case other => other }).toMap))
    case m @ MergeRows(_, _, _, _, _, _, _, Join(_, target, LeftAnti, Some(on), _)) => searchColumns(table, target, on, inserted(m))
  }.getOrElse(Nil)

  private def inserted(rows: MergeRows): Seq[Map[String, Expression]] =
    rows.notMatchedInstructions.flatMap(_.outputs).map(values => rows.output.map(_.name).zip(values).toMap)

  private def searchColumns(table: ParquetryTable, target: LogicalPlan, on: Expression, inserted: Seq[Map[String, Expression]]): Seq[String] = {
    val columns = target.output.filter(a => table.partitionColumns.contains(a.name))
    val compared = PartitionPredicates.conjuncts(on).flatMap {
      case EqualTo(left, right) => Seq(left -> right, right -> left)
      case EqualNullSafe(left, right) => Seq(left -> right, right -> left)
      case _ => Nil
    }
    columns.filter(column => compared.exists { case (ours, other) =>
      narrow(ours).semanticEquals(column) && inserted.forall(_.get(column.name).exists(narrow(_).semanticEquals(narrow(other))))
    }).map(_.name)
  }

  /** Removes casts of a whole number that keep its value, or fail. */
  private def narrow(e: Expression): Expression = e match {
    case c: Cast if whole(c.dataType) && whole(c.child.dataType) && (c.ansiEnabled || Cast.canUpCast(c.child.dataType, c.dataType)) =>
      narrow(c.child)
    case checked: CheckOverflowInTableInsert => narrow(checked.child)
    case other => other
  }
  private def whole(dataType: DataType) = dataType.isInstanceOf[IntegralType]
}
