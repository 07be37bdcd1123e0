package org.apache.spark.sql.parquetry.statements

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{ResolvedPartitionSpec, ResolvedTable}
import org.apache.spark.sql.catalyst.expressions.{Cast, JoinedRow, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, V2PartitionCommand}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.types.{DataType, StringType}

/**
 * Has Spark's errors about partitions show values as SQL writes them. Spark itself shows a date as a number
 * of days.
 */
object ShowPartitionValues extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case c: V2PartitionCommand => c.table match {
      case ResolvedTable(_, _, _: ParquetryTable, _) => c.transformExpressions {
        case s @ ResolvedPartitionSpec(_, ident, _) if !ident.isInstanceOf[ReadableRow] =>
          s.copy(ident = new ReadableRow(ident))
      }
      case _ => c
    }
  }
}

/**
 * A row with texts for values in `toSeq`, which Spark's errors call. As a `JoinedRow` it equals no plain row.
 */
class ReadableRow(held: InternalRow) extends JoinedRow(held, InternalRow.empty) {
  override def toSeq(types: Seq[DataType]): Seq[Any] = held.toSeq(types).zip(types).map {
    case (null, _) => null
    case (value, dataType) =>
      Cast(Literal(value, dataType), StringType, Some(SQLConf.get.sessionLocalTimeZone)).eval(InternalRow.empty)
  }
}
