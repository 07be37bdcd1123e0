package org.apache.spark.sql.parquetry.reports

import java.util.{Collections, IdentityHashMap}

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.{
  Attribute, AttributeReference, BinaryComparison, DynamicPruning, Expression, KnownNullable, PredicateHelper, ScalarSubquery}
import org.apache.spark.sql.catalyst.plans.logical.{Command, CommandResult, Filter, Join, LogicalPlan, Project, V2CreateTableAsSelectPlan, V2WriteCommand}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy
import org.apache.spark.sql.parquetry.predicates.{EvaluatedDirectoryPredicates, EvaluatedPartitionPredicates}
import org.apache.spark.sql.parquetry.protocol.Json
import org.apache.spark.sql.parquetry.rows.{RewriteRowsExec, RewrittenScan}
import org.apache.spark.sql.parquetry.scan.{ParquetryScan, Reported}
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * Reads facts off a query's plans: what its scans pruned, its joins and their runtime values. The query's
 * session must be the active one.
 */
object QueryFacts {
  /** Facts about a query, or about a command that has not run. */
  def of(query: QueryExecution): JObject = gathered(query.sparkSession)(facts => query.optimizedPlan match {
    case command: Command => facts.visit(command, Nil)
    case _ => facts.visitQuery(query)
  })

  /** Facts about a command that has run. Its queries are planned once more. */
  def ofCommand(session: ClassicSession, plan: SparkPlan): JObject = gathered(session)(_.visitCommand(plan))

  private def gathered(session: ClassicSession)(visit: QueryFacts => Unit): JObject = {
    val facts = new QueryFacts(session)
    visit(facts)
    JObject("scans" -> JArray(facts.scans.result()), "joins" -> JArray(facts.joins.result()), "values" -> JArray(facts.values.result()))
  }

  /** The queries that a command plans on their own. */
  def queries(plan: SparkPlan): Seq[LogicalPlan] = plan.flatMap(_.productIterator).collect { case query: LogicalPlan => query }

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

private class QueryFacts(session: ClassicSession) extends PredicateHelper {
  private val seen = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
  private val scans = List.newBuilder[JValue]
  private val joins = List.newBuilder[JValue]
  private val values = List.newBuilder[JValue]

  /** Visits a query that is planned on its own: only such a plan shows what its joins shuffle. */
  private def visitQuery(query: QueryExecution): Unit = {
    addJoins(query)
    visit(query.optimizedPlan, Nil)
  }
  // a query without joins is not planned: planning would list the files of each task
  private def addJoins(query: QueryExecution): Unit =
    if (query.optimizedPlan.collectWithSubqueries { case join: Join => join }.nonEmpty) {
      joins ++= JoinFacts.of(query.executedPlan, RuntimeFacts.forValues(query.optimizedPlan))
      values ++= RuntimeFacts.of(query)
    }
  private def planned(query: LogicalPlan): QueryExecution = session.sessionState.executePlan(query, CommandExecutionMode.SKIP)

  private def visit(plan: LogicalPlan, above: Seq[Expression]): Unit = {
    plan match {
      case ScanRelation(_, scan: Reported, _, _, _) =>
        // a scan of rows to be rewritten is planned by the statement's condition, not by filters above it
        val conditions = if (scan.isInstanceOf[RewrittenScan]) Nil else above
        if (seen.add(scan)) scans += JObject("report" -> scan.report, "untranslated" -> QueryFacts.untranslated(conditions, scan))
      case Filter(condition, child) => visit(child, above ++ splitConjunctivePredicates(condition))
      case Project(_, child) => visit(child, above)
      // the plan that fills the cache, as it was written: planned as a query, it would use the cached data
      // itself
      case cached: InMemoryRelation =>
        joins ++= JoinFacts.of(cached.cachedPlan)
        visit(session.sessionState.optimizer.execute(cached.cacheBuilder.logicalPlan), Nil)
      // a write plans its query on its own, and does not show the plan, so it is planned once more here
      case create: V2CreateTableAsSelectPlan => visitQuery(planned(create.query))
      case done: CommandResult => visitCommand(done.commandPhysicalPlan)
      case write: V2WriteCommand =>
        addJoins(planned(write.query))
        visit(write.query, Nil)
      case other => other.children.foreach(visit(_, Nil))
    }
    plan.subqueries.foreach(visit(_, Nil))
  }
  private def visitCommand(plan: SparkPlan): Unit = {
    plan.collect { case rows: RewriteRowsExec => rows.write.operation.scan }.flatten
      .foreach(scan => scans += JObject("report" -> scan.report, "untranslated" -> JArray(Nil)))
    QueryFacts.queries(plan).foreach(query => visitQuery(planned(query)))
  }
}
