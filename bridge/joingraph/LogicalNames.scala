package org.apache.spark.sql.parquetry.joingraph

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.predicates.FieldPath

/** Names for the parts of a logical plan, for people to read. */
object LogicalNames {
  /** A join's type in SQL. EXISTS or IN beside OR is a join without one. */
  def of(join: JoinType): String = Try(join.sql).getOrElse("EXISTS")
  def of(key: Expression): String = FieldPath.readable(key).transform { case a: AttributeReference => a.withQualifier(Nil) }.sql

  /** The name of a plan's first leaf. */
  def of(plan: LogicalPlan): String = plan match {
    case relation: DataSourceV2ScanRelation => relation.relation.table.name()
    case relation: LogicalRelation => relation.catalogTable.fold("files")(_.identifier.unquotedString)
    case cached: InMemoryRelation => cached.cacheBuilder.tableName.getOrElse("cached data")
    case other => other.children.headOption.fold(other.nodeName)(of)
  }
}
