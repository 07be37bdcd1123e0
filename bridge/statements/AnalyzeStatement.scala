package org.apache.spark.sql.parquetry.statements

import org.json4s._

import org.apache.spark.sql.catalyst.analysis.{ResolvedNamespace, ResolvedTable}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.parquetry.catalog.PlannerCatalog
import org.apache.spark.sql.parquetry.protocol.{CallAnswer, CatalogRef, Json}
import org.apache.spark.sql.parquetry.table.ParquetryTable

/**
 * `ANALYZE TABLE` shows the recorded statistics, which every commit keeps. `FOR COLUMNS` counts distinct
 * values.
 */
object AnalyzeStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case AnalyzeTable(ResolvedTable(_, ident, t: ParquetryTable, _), spec, _) =>
      analyze(t.ref, ident.namespace(), Seq(ident.name()), "partition_columns" -> Json.strings(spec.keys))
    case AnalyzeColumn(ResolvedTable(_, ident, t: ParquetryTable, _), names, all) =>
      analyze(t.ref, ident.namespace(), Seq(ident.name()), "columns" -> Json.strings(names.getOrElse(Nil)), "all_columns" -> JBool(all))
    case AnalyzeTables(ResolvedNamespace(catalog: PlannerCatalog, namespace, _), _) =>
      val all = catalog.listTables(namespace.toArray).map(_.name())
      analyze(catalog.reference, namespace.toArray, all.toSeq)
  }

  private def analyze(ref: CatalogRef, namespace: Array[String], names: Seq[String], more: JField*): LogicalPlan = {
    val answer = ref.ask("analyze", Seq[JField]("namespace" -> Json.strings(namespace), "names" -> Json.strings(names)) ++ more: _*).as[CallAnswer]
    LocalRelation(toAttributes(answer.schema), answer.sparkRows.toSeq)
  }
}
