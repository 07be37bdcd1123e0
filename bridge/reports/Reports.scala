package org.apache.spark.sql.parquetry.reports

import java.util.{Collections, IdentityHashMap}

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{
  Attribute, AttributeReference, BinaryComparison, DynamicPruning, Expression, KnownNullable, PredicateHelper, ScalarSubquery}
import org.apache.spark.sql.catalyst.plans.logical.{Command, CommandResult, Filter, Join, LogicalPlan, Project, V2CreateTableAsSelectPlan, V2WriteCommand}
import org.apache.spark.sql.classic.{Dataset, SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy
import org.apache.spark.sql.parquetry.predicates.{EvaluatedDirectoryPredicates, EvaluatedPartitionPredicates}
import org.apache.spark.sql.parquetry.protocol.Json
import org.apache.spark.sql.parquetry.rows.{RewriteRowsExec, RewrittenScan}
import org.apache.spark.sql.parquetry.scan.{ParquetryScan, Reported}
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * Reads reports off a query's plans: what its scans pruned, and facts about its joins and their runtime
 * values.
 */
object Reports extends PredicateHelper {
  /** @param settings names of settings of the session; their values are reported, too */
  def of(data: DataFrame, settings: java.util.List[String]): String = {
    val rows = data.asInstanceOf[Dataset[_]]
    shown(rows.sparkSession, rows.queryExecution, settings)
  }

  /** The report of a query that has run. */
  def ofQuery(query: QueryExecution, settings: java.util.List[String]): String =
    query.sparkSession.withActive(shown(query.sparkSession, query, settings))

  /** The report of a statement that is planned and not run; it may be a command. */
  def ofSql(session: SparkSession, text: String, settings: java.util.List[String]): String = {
    val classic = session.asInstanceOf[ClassicSession]
    classic.withActive {
      val statement = classic.sessionState.sqlParser.parsePlan(text)
      shown(classic, planned(classic, statement), settings)
    }
  }

  private def planned(session: ClassicSession, plan: LogicalPlan): QueryExecution =
    session.sessionState.executePlan(plan, CommandExecutionMode.SKIP)

  private def shown(session: ClassicSession, query: QueryExecution, settings: java.util.List[String]): String = {
    val seen = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
    val scans = List.newBuilder[JValue]
    val joins = List.newBuilder[JValue]
    val values = List.newBuilder[JValue]

    /** Visits a query that is planned on its own: only such a plan shows what its joins shuffle. */
    def visitQuery(query: QueryExecution): Unit = {
      addJoins(query)
      visit(query.optimizedPlan, Nil)
    }
    // a query without joins is not planned: planning would list the files of each task
    def addJoins(query: QueryExecution): Unit =
      if (query.optimizedPlan.collectWithSubqueries { case join: Join => join }.nonEmpty) {
        joins ++= JoinFacts.of(query.executedPlan, RuntimeFacts.forValues(query.optimizedPlan))
        values ++= RuntimeFacts.of(query)
      }

    def visit(plan: LogicalPlan, above: Seq[Expression]): Unit = {
      plan match {
        case ScanRelation(_, scan: Reported, _, _, _) =>
          // a scan of rows to be rewritten is planned by the statement's condition, not by filters above it
          val conditions = if (scan.isInstanceOf[RewrittenScan]) Nil else above
          if (seen.add(scan)) scans += JObject("report" -> scan.report, "untranslated" -> untranslated(conditions, scan))
        case Filter(condition, child) => visit(child, above ++ splitConjunctivePredicates(condition))
        case Project(_, child) => visit(child, above)
        // the plan that fills the cache, as it was written: planned as a query, it would use the cached data
        // itself
        case cached: InMemoryRelation =>
          joins ++= JoinFacts.of(cached.cachedPlan)
          visit(session.sessionState.optimizer.execute(cached.cacheBuilder.logicalPlan), Nil)
        // a write plans its query on its own, and does not show the plan, so it is planned once more here
        case create: V2CreateTableAsSelectPlan => visitQuery(planned(session, create.query))
        case done: CommandResult => done.commandPhysicalPlan.foreach {
          case rows: RewriteRowsExec =>
            rows.write.operation.scan.foreach(scan => scans += JObject("report" -> scan.report, "untranslated" -> JArray(Nil)))
          case other => other.productIterator.foreach {
            case query: LogicalPlan => visitQuery(planned(session, query))
            case _ =>
          }
        }
        case write: V2WriteCommand =>
          addJoins(planned(session, write.query))
          visit(write.query, Nil)
        case other => other.children.foreach(visit(_, Nil))
      }
      plan.subqueries.foreach(visit(_, Nil))
    }
    query.optimizedPlan match {
      case command: Command => visit(command, Nil)
      case _ => visitQuery(query)
    }
    compact(JObject(
      "scans" -> JArray(scans.result()),
      "joins" -> JArray(joins.result()),
      "values" -> JArray(values.result()),
      "settings" -> Json.strings(settings.asScala.flatMap(name => session.conf.getOption(name).map(name -> _)).toMap)))
  }

  /**
   * The conditions that Spark does not offer to a source. Runtime filters, which reach the scan otherwise, do
   * not count.
   */
  private def untranslated(conditions: Seq[Expression], scan: Reported): JArray = {
    val filterable = scan match {
      case ours: ParquetryScan => ours.filterAttributes().map(_.fieldNames().head).toSet
      case _ => Set.empty[String]
    }
    val evaluated = scan match {
      case ours: ParquetryScan => ours.asked.flatMap(EvaluatedDirectoryPredicates.untranslated).toSet
      case _ => Set.empty[String]
    }
    def arrives(e: Expression) = e match {
      case BinaryComparison(column: Attribute, _: ScalarSubquery) => filterable(column.name)
      case BinaryComparison(_: ScalarSubquery, column: Attribute) => filterable(column.name)
      case _ => e.exists(_.isInstanceOf[DynamicPruning])
    }
    Json.strings(conditions.filterNot(arrives)
      .filter(e => DataSourceV2Strategy.translateFilterV2(e).isEmpty && !evaluated(EvaluatedPartitionPredicates.text(e))).map(_.transform {
        case a: AttributeReference => a.withQualifier(Nil)
        case marked: KnownNullable => marked.child // see GuardUntranslatablePredicates
      }.sql))
  }
}
