package org.apache.spark.sql.parquetry

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{Expression, PredicateHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, DataSourceV2Strategy}

/** What the scans of a query left out, read off its plan. */
object Reports extends PredicateHelper {
  def of(data: DataFrame): String = {
    val plan = data.asInstanceOf[Dataset[_]].queryExecution.optimizedPlan
    val scans = collection.mutable.LinkedHashMap.empty[Reported, Seq[Expression]]
    visit(plan, Nil, (scan, above) => scans.getOrElseUpdate(scan, above))
    compact(JArray(scans.map { case (scan, above) => JObject(
      "report" -> scan.report,
      "untranslated" -> Json.strings(above.filter(DataSourceV2Strategy.translateFilterV2(_).isEmpty).map(_.sql)))
    }.toList))
  }

  private def visit(plan: LogicalPlan, above: Seq[Expression], found: (Reported, Seq[Expression]) => Unit): Unit = {
    plan match {
      case DataSourceV2ScanRelation(_, scan: Reported, _, _, _, _, _) => found(scan, above)
      case Filter(condition, child) => visit(child, above ++ splitConjunctivePredicates(condition), found)
      case Project(_, child) => visit(child, above, found)
      case other => other.children.foreach(visit(_, Nil, found))
    }
    plan.subqueriesAll.foreach(visit(_, Nil, found))
  }
}
