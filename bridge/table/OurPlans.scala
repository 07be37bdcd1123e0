package org.apache.spark.sql.parquetry.table

import java.lang.ref.WeakReference

import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.View
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/**
 * Tells plans that name a table, a catalog or a node of ours from all others, for rules that have nothing to
 * do elsewhere. A plan is looked at once: most rules get the very plan that the rule before them got.
 *
 * A plan counts as ours in case of doubt. A table of ours may be in a leaf, in a field of a statement that is
 * no child, or in a subquery.
 */
object OurPlans {
  private val last = new ThreadLocal[(WeakReference[AnyRef], Boolean)]

  def contain(plan: QueryPlan[_]): Boolean = last.get() match {
    case (same, answer) if same.get() eq plan => answer
    case _ =>
      val answer = names(plan)
      last.set((new WeakReference[AnyRef](plan), answer))
      answer
  }

  private def names(plan: QueryPlan[_]): Boolean =
    isOurs(plan.getClass) || plan.isInstanceOf[View] || plan.productIterator.exists(mentions(_, plan)) ||
      children(plan).exists(names) || subqueries(plan).exists(names)

  private def mentions(field: Any, of: QueryPlan[_]): Boolean = field match {
    case Some(value) => mentions(value, of)
    case plan: QueryPlan[_] => !children(of).exists(_ eq plan) && names(plan)
    case rows: RowLevelOperationTable => mentions(rows.table, of)
    case table: Table => isOurs(table.getClass)
    case relation: HadoopFsRelation => isOurs(relation.location.getClass)
    case null => false
    case other => isOurs(other.getClass)
  }

  private def children(plan: QueryPlan[_]): Seq[QueryPlan[_]] = plan.children.asInstanceOf[Seq[QueryPlan[_]]]
  private def subqueries(plan: QueryPlan[_]): Seq[QueryPlan[_]] =
    if (plan.containsPattern(TreePattern.PLAN_EXPRESSION)) plan.subqueries.asInstanceOf[Seq[QueryPlan[_]]] else Nil

  private val ours = new ClassValue[java.lang.Boolean] {
    override def computeValue(kind: Class[_]): java.lang.Boolean = kind.getName.startsWith("org.apache.spark.sql.parquetry.")
  }
  private def isOurs(kind: Class[_]): Boolean = ours.get(kind)
}
