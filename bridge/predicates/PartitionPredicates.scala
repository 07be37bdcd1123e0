package org.apache.spark.sql.parquetry.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.table.ParquetryTable

/** Properties and parts of conditions on our tables, for rules such as `ExtractPartitionPredicates`. */
object PartitionPredicates extends PredicateHelper {
  def table(relation: DataSourceV2Relation): Option[ParquetryTable] = relation.table match {
    case t: ParquetryTable if t.partitionColumns.nonEmpty => Some(t)
    case _ => None
  }

  def columns(relation: DataSourceV2Relation, table: ParquetryTable): AttributeSet =
    AttributeSet(relation.output.filter(a => table.partitionColumns.contains(a.name)))

  /** Whether a condition is about partition columns of a table alone, and their values decide it. */
  def decides(table: ParquetryTable, e: Expression): Boolean =
    evaluable(e) && e.references.forall(a => table.partitionColumns.contains(a.name))

  /** Whether values alone decide a condition. */
  def evaluable(e: Expression): Boolean =
    e.deterministic && e.references.nonEmpty && !SubqueryExpression.hasSubquery(e) && !e.exists(_.isInstanceOf[PythonUDF])

  /** Whether a condition only compares columns with constants: the planner understands such conditions. */
  def plain(e: Expression): Boolean = e match {
    case And(left, right) => plain(left) && plain(right)
    case Or(left, right) => plain(left) && plain(right)
    case Not(child) => plain(child)
    case comparison: BinaryComparison => readsOneColumn(comparison)
    case match_ : StringPredicate => readsOneColumn(match_)
    case in: In => readsOneColumn(in)
    case InSet(value, _) => isOperand(value)
    case IsNull(value) => isOperand(value)
    case IsNotNull(value) => isOperand(value)
    case other => isOperand(other)
  }
  private def isOperand(e: Expression): Boolean = e.isInstanceOf[Attribute] || e.foldable // what is not folded yet will be
  private def readsOneColumn(e: Expression): Boolean =
    e.children.forall(isOperand) && e.children.count(_.isInstanceOf[Attribute]) <= 1

  def aliases(below: Project): AttributeMap[Alias] = getAliasMap(below)
  def conjuncts(e: Expression): Seq[Expression] = splitConjunctivePredicates(e)
  def part(e: Expression, of: AttributeSet): Option[Expression] = extractPredicatesWithinOutputSet(e, of)
}
