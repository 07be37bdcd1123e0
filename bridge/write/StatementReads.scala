package org.apache.spark.sql.parquetry.write

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.metadata.MetadataTable
import org.apache.spark.sql.parquetry.scan.Asked
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * The tables of ours that a plan reads, each at its version and with the query's conditions on it. Runtime
 * filters are not among the conditions. A table whose version the query itself names is left out.
 */
object StatementReads {
  def of(plan: LogicalPlan): JArray = JArray(plan.collectWithSubqueries {
    case ScanRelation(relation, scan, _, _, _) => read(relation, conditions(scan)).toList
    case cached: InMemoryRelation => cached.cacheBuilder.logicalPlan.collectWithSubqueries {
      case relation: DataSourceV2Relation => read(relation, Nil).toList
    }.flatten
  }.flatten.distinct.toList)

  /** The same for rows that are about to be written. */
  def of(rows: DataFrame): String = compact(of(rows.asInstanceOf[Dataset[_]].queryExecution.optimizedPlan))

  private def conditions(scan: Scan): Seq[JValue] = scan match {
    case some: Asked => some.asked
    case _ => Nil
  }

  private def read(relation: DataSourceV2Relation, conditions: Seq[JValue]): Option[JValue] =
    identity(relation.table).map(table => JObject("table" -> table, "predicates" -> JArray(conditions.toList)))

  private def identity(table: Table): Option[JValue] = table match {
    case ours: ParquetryTable => Option.unless(ours.isPast)(JObject(ours.identity.toList) \ "table")
    case rewritten: RowLevelOperationTable => identity(rewritten.table)
    case ofTable: MetadataTable => Option.unless(ofTable.isPast)(ofTable.identity)
    case _ => None
  }
}
