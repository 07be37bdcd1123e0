package org.apache.spark.sql.parquetry.statements

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{ResolvedPartitionSpec, ResolvedTable}
import org.apache.spark.sql.catalyst.expressions.{Cast, JoinedRow, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, V2PartitionCommand}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.types.{DataType, StringType}

/** Spark's errors about partitions tell values as they are held, a date by the number of its day: here as SQL has them. */
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

/** A row whose values, as a sequence, are texts: that is how Spark's errors take them. Joined with nothing, it equals no plain row. */
class ReadableRow(held: InternalRow) extends JoinedRow(held, InternalRow.empty) {
  override def toSeq(types: Seq[DataType]): Seq[Any] = held.toSeq(types).zip(types).map {
    case (null, _) => null
    case (value, dataType) =>
      Cast(Literal(value, dataType), StringType, Some(SQLConf.get.sessionLocalTimeZone)).eval(InternalRow.empty)
  }
}
