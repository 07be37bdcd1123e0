package org.apache.spark.sql.parquetry

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.{And, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, DataSourceV2Strategy}

/**
 * Spark pushes columns into the scan of a DELETE, too, and puts a projection over it if the scan gives them in
 * another order; then it no longer knows the table. The projection holds the same columns and may go. A condition
 * that has no form for sources, or is NULL, is seen to here as well.
 */
object DeleteStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case d @ DeleteFromTable(Project(_, scan: DataSourceV2ScanRelation), _) if isOurs(scan) =>
      planLater(d.copy(table = scan)) :: Nil
    case d @ DeleteFromTable(scan: DataSourceV2ScanRelation, Literal(null, _)) if isOurs(scan) =>
      planLater(d.copy(condition = Literal.FalseLiteral)) :: Nil
    case DeleteFromTable(scan @ DataSourceV2ScanRelation(r, _, _, _, _, _, _), condition) if isOurs(scan) =>
      conjuncts(condition).filter(DataSourceV2Strategy.translateFilterV2(_).isEmpty).foreach { c =>
        RowLevelStatement.refuse(r.table.asInstanceOf[ParquetryTable], "DELETE FROM", "condition" -> JString(c.sql))
      }
      Nil // the rest is Spark's
    case _ => Nil
  }

  private def isOurs(scan: DataSourceV2ScanRelation): Boolean = scan.relation.table.isInstanceOf[ParquetryTable]
  private def conjuncts(e: Expression): Seq[Expression] = e match {
    case And(left, right) => conjuncts(left) ++ conjuncts(right)
    case other => Seq(other)
  }
}
