package org.apache.spark.sql.parquetry

import java.util.{Collections, IdentityHashMap}

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, DynamicPruning, Expression, KnownNullable, PredicateHelper}
import org.apache.spark.sql.catalyst.plans.logical.{CommandResult, Filter, LogicalPlan, Project, V2CreateTableAsSelectPlan}
import org.apache.spark.sql.classic.{Dataset, SparkSession => ClassicSession}
import org.apache.spark.sql.execution.CommandExecutionMode
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, DataSourceV2Strategy}

/** What the scans of a query left out, read off its plan. */
object Reports extends PredicateHelper {
  def of(data: DataFrame): String = {
    val rows = data.asInstanceOf[Dataset[_]]
    shown(rows.sparkSession, rows.queryExecution.optimizedPlan)
  }

  /** Of a statement that is planned and not run, be it a command. */
  def ofSql(session: SparkSession, text: String): String = {
    val classic = session.asInstanceOf[ClassicSession]
    classic.withActive {
      val statement = classic.sessionState.sqlParser.parsePlan(text)
      shown(classic, planned(classic, statement))
    }
  }

  private def planned(session: ClassicSession, plan: LogicalPlan): LogicalPlan =
    session.sessionState.executePlan(plan, CommandExecutionMode.SKIP).optimizedPlan

  private def shown(session: ClassicSession, plan: LogicalPlan): String = {
    val seen = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
    val scans = List.newBuilder[JValue]

    def visit(plan: LogicalPlan, above: Seq[Expression]): Unit = {
      plan match {
        case DataSourceV2ScanRelation(_, scan: Reported, _, _, _, _, _) =>
          if (seen.add(scan)) scans += JObject("report" -> scan.report, "untranslated" -> untranslated(above))
        case Filter(condition, child) => visit(child, above ++ splitConjunctivePredicates(condition))
        case Project(_, child) => visit(child, above)
        // what fills the cache, as it was written: planned as a query, it would find itself in the cache
        case cached: InMemoryRelation =>
          visit(session.sessionState.optimizer.execute(cached.cacheBuilder.logicalPlan), Nil)
        // a write plans its query on its own, out of sight: it is planned once more here
        case create: V2CreateTableAsSelectPlan => visit(planned(session, create.query), Nil)
        case done: CommandResult => done.commandPhysicalPlan.foreach(_.productIterator.foreach {
          case query: LogicalPlan => visit(planned(session, query), Nil)
          case _ =>
        })
        case other => other.children.foreach(visit(_, Nil))
      }
      plan.subqueries.foreach(visit(_, Nil))
    }
    visit(plan, Nil)
    compact(JArray(scans.result()))
  }

  /** Conditions that Spark keeps to itself; values that a join finds at run time come to the scan by another way. */
  private def untranslated(conditions: Seq[Expression]): JArray =
    Json.strings(conditions.filterNot(_.exists(_.isInstanceOf[DynamicPruning]))
      .filter(DataSourceV2Strategy.translateFilterV2(_).isEmpty).map(_.transform {
        case a: AttributeReference => a.withQualifier(Nil)
        case marked: KnownNullable => marked.child // see UntranslatableConditions
      }.sql))
}
