package org.apache.spark.sql.parquetry.reports

import java.util.{Collections, IdentityHashMap}

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.{
  Attribute, AttributeReference, BinaryComparison, DynamicPruning, EqualTo, Expression, ExprId, IsNull, KnownNullable, PredicateHelper,
  ScalarSubquery, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.LeftAnti
import org.apache.spark.sql.catalyst.plans.logical.{Command, CommandResult, Filter, Join, LogicalPlan, Project, V2CreateTableAsSelectPlan, V2WriteCommand}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy
import org.apache.spark.sql.parquetry.audit.AuditOutcome
import org.apache.spark.sql.parquetry.filescans.{PlanNodes, ScanNode}
import org.apache.spark.sql.parquetry.joingraph.LogicalNames
import org.apache.spark.sql.parquetry.predicates.{EvaluatedDirectoryPredicates, EvaluatedPartitionPredicates, FieldPath}
import org.apache.spark.sql.parquetry.protocol.{Codec, Json}
import org.apache.spark.sql.parquetry.rows.{RewriteRowsExec, RewrittenScan}
import org.apache.spark.sql.parquetry.scan.{MetadataScan, ParquetryScan, Reported}
import org.apache.spark.sql.parquetry.skew.SplitHeavyKeys
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * Facts about a query, for its report. They hold no plan.
 *
 * @param run `own` if the query has run, `same` if these are facts about the newest run of the same scans,
 *   `none` if there is no such run, `planned` for facts about a plan
 * @param audited what the query's audit has found, or JNothing
 */
case class Facts(
    scans: Seq[ScanJson], joins: Seq[JValue], values: Seq[JValue], splits: Seq[JValue], run: String, audited: JValue = JNothing) {
  def json: JObject = JObject(
    "audited" -> audited,
    "splits" -> JArray(splits.toList),
    "scans" -> JArray(scans.map(_.full).toList), "joins" -> JArray(joins.toList), "values" -> JArray(values.toList), "run" -> JString(run))
}

/**
 * Reads facts off a query's plans: what its scans pruned, its joins and their runtime values. The query's
 * session must be the active one.
 */
object QueryFacts {
  /**
   * Facts about a query, or about a command that has not run.
   *
   * @param run see `Facts`
   * @param filled whether the query's run filled a cache itself
   */
  def of(query: QueryExecution, run: String, filled: InMemoryRelation => Boolean): Facts = {
    val ran = Option.when(run == "own")(new ScansInRun(query.executedPlan, filled))
    gathered(query.sparkSession, run, ran)(facts => query.optimizedPlan match {
      case command: Command if ran.exists(_.any) => facts.visitWrite(query, command)
      case command: Command => facts.visit(command, Nil, Nil)
      case _ => facts.visitQuery(query)
    }).copy(audited = if (run == "own") AuditOutcome.of(query.executedPlan) else JNothing)
  }

  /** Facts about a command that has run. Its queries are planned once more. */
  def ofCommand(session: ClassicSession, plan: SparkPlan): Facts = gathered(session, "own", None)(_.visitCommand(plan))

  private def gathered(session: ClassicSession, run: String, ran: Option[ScansInRun])(visit: QueryFacts => Unit): Facts = {
    val facts = new QueryFacts(session, ran)
    visit(facts)
    Facts(facts.scanFacts, facts.joins.result(), facts.values.result(), facts.splits.result(), run)
  }

  /**
   * The identities of a query's scans, in an order that is the same for equal scans: tables,
   * their versions, and conditions. It is empty for a query without scans of ours.
   */
  def sameScans(query: QueryExecution): Seq[String] = {
    def within(plan: LogicalPlan): Seq[String] = plan.collectWithSubqueries {
      case ScanRelation(_, scan: ParquetryScan, _, _, _) if scan.readsBesideBuckets => Nil
      case ScanRelation(_, scan: Reported, _, _, _) => Seq(scan.sameScan)
      case cached: InMemoryRelation => Seq(s"cache ${System.identityHashCode(cached.cacheBuilder)}")
      case done: CommandResult => commands(query.sparkSession, done.commandPhysicalPlan)
    }.flatten
    within(query.optimizedPlan).sorted
  }
  private def commands(session: ClassicSession, plan: SparkPlan): Seq[String] =
    queries(plan).flatMap(each => sameScans(session.sessionState.executePlan(each, CommandExecutionMode.SKIP)))

  /** The queries that a command plans on their own. */
  def queries(plan: SparkPlan): Seq[LogicalPlan] = plan.flatMap(_.productIterator).collect { case query: LogicalPlan => query }

  /**
   * The conditions that Spark does not offer to a source. Runtime filters, which reach the scan otherwise, do
   * not count.
   *
   * @param ends ids of the subqueries that compute ends of ranges for runtime filters
   */
  private def untranslated(conditions: Seq[Expression], scan: Reported, ends: Set[ExprId]): JArray = {
    val filterable = scan match {
      case ours: ParquetryScan => ours.filterable
      case _ => Set.empty[String]
    }
    val evaluated = scan match {
      case ours: ParquetryScan => ours.asked.flatMap(EvaluatedDirectoryPredicates.untranslated).toSet
      case _ => Set.empty[String]
    }
    def arrives(e: Expression) = e match {
      case BinaryComparison(column, _: ScalarSubquery) => FieldPath.name(column).exists(filterable)
      case BinaryComparison(_: ScalarSubquery, column) => FieldPath.name(column).exists(filterable)
      case _ => e.exists {
        case end: ScalarSubquery => ends(end.exprId)
        case other => other.isInstanceOf[DynamicPruning]
      }
    }
    Json.strings(conditions.filterNot(arrives)
      .filter(e => DataSourceV2Strategy.translateFilterV2(e).isEmpty && !evaluated(EvaluatedPartitionPredicates.text(e))).map(_.transform {
        case a: AttributeReference => a.withQualifier(Nil)
        case marked: KnownNullable => marked.child // see GuardUntranslatablePredicates
      }.sql))
  }
}

private class QueryFacts(session: ClassicSession, ran: Option[ScansInRun]) extends PredicateHelper {
  private val seen = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
  private val scans = List.newBuilder[ScanFacts]
  private val joins = List.newBuilder[JValue]
  private val values = List.newBuilder[JValue]
  private val splits = List.newBuilder[JValue]
  private var ends = Set.empty[ExprId]

  private def scanFacts: Seq[ScanJson] = {
    val found = scans.result()
    val read = found.collect { case each if each.read == "read" => each.scan }
    found.map(each => each.later(each.read == "dropped" && ran.exists(_.servedByAnother(each.scan, read))))
  }

  /** Visits a query that is planned on its own: only such a plan shows what its joins shuffle. */
  private def visitQuery(query: QueryExecution): Unit = {
    addJoins(query)
    visit(query.optimizedPlan, Nil, Nil)
  }
  /** Visits a write that has run, whose plan has the scans. */
  private def visitWrite(query: QueryExecution, command: LogicalPlan): Unit = {
    addJoins(query)
    command match {
      case write: V2WriteCommand => visit(write.query, Nil, Nil)
      case other => other.children.foreach(visit(_, Nil, Nil))
    }
  }
  // a query without joins is not planned: planning would list the files of each task
  private def addJoins(query: QueryExecution): Unit =
    if (query.optimizedPlan.collectWithSubqueries { case join: Join => join }.nonEmpty) {
      joins ++= JoinFacts.of(query.executedPlan, RuntimeFacts.forValues(query.optimizedPlan))
      values ++= RuntimeFacts.of(query)
      splits ++= query.optimizedPlan.collectWithSubqueries { case join: Join => join.getTagValue(SplitHeavyKeys.outcome).flatten }
        .flatten.map(Codec.encode)
      ends ++= RuntimeFacts.forValues(query.optimizedPlan)
    }
  private def planned(query: LogicalPlan): QueryExecution = session.sessionState.executePlan(query, CommandExecutionMode.SKIP)

  /**
   * @param above the conditions right above the plan
   * @param joined the types of the joins above it, with `NOT IN` for one of NOT IN
   */
  private def visit(plan: LogicalPlan, above: Seq[Expression], joined: Seq[String], cache: Option[InMemoryRelation] = None): Unit = {
    plan match {
      case ScanRelation(_, scan: ParquetryScan, _, _, _) if scan.readsBesideBuckets =>
      case ScanRelation(_, planned: Reported, _, _, _) =>
        val scan = cache.fold[Reported](planned)(inCache(planned, _))
        // a scan of rows to be rewritten is planned by the statement's condition, not by filters above it;
        // filters above an answer are not about the table's rows
        val conditions = if (scan.isInstanceOf[RewrittenScan] || scan.isInstanceOf[MetadataScan]) Nil else above
        if (seen.add(scan.original)) scans += ScanFacts(scan, QueryFacts.untranslated(conditions, scan, ends), joined.distinct,
          cache.fold(ran.fold("planned")(_.read(scan)))(found => if (ran.fold(found.cacheBuilder.isCachedColumnBuffersLoaded)(!_.filled(found))) "cached" else "read"),
          cache.flatMap(_.cacheBuilder.tableName), ran.exists(_.readBySpark(scan)), ran.flatMap(_.rows(scan)), ran.flatMap(_.givenRows(scan)))
      case Filter(condition, child) => visit(child, above ++ splitConjunctivePredicates(condition), joined, cache)
      case Project(_, child) => visit(child, above, joined, cache)
      case join: Join =>
        val notIn = join.joinType == LeftAnti && join.condition.exists(_.exists { case IsNull(_: EqualTo) => true; case _ => false })
        visit(join.left, Nil, joined :+ (if (notIn) "NOT IN" else LogicalNames.of(join.joinType)), cache)
        visit(join.right, Nil, joined :+ LogicalNames.of(join.joinType), cache)
      // the plan that fills the cache, as it was written: planned as a query, it would use the cached data
      // itself
      case cached: InMemoryRelation => if (seen.add(cached.cacheBuilder)) {
        joins ++= JoinFacts.of(cached.cachedPlan)
        visit(session.sessionState.optimizer.execute(cached.cacheBuilder.logicalPlan), Nil, Nil, Some(cached))
      }
      // a write plans its query on its own, and does not show the plan, so it is planned once more here
      case create: V2CreateTableAsSelectPlan => visitQuery(planned(create.query))
      case done: CommandResult => visitCommand(done.commandPhysicalPlan)
      case write: V2WriteCommand =>
        addJoins(planned(write.query))
        visit(write.query, Nil, Nil)
      case other => other.children.foreach(visit(_, Nil, joined, cache))
    }
    plan.expressions.flatMap(subqueries).foreach(visit(_, Nil, Nil, cache))
  }

  /**
   * The scan that filled a cache, or will, in place of one that was planned anew for the report: runtime
   * values came to that scan alone.
   */
  private def inCache(planned: Reported, cache: InMemoryRelation): Reported = planned match {
    case ours: ParquetryScan =>
      val found = PlanNodes(cache.cachedPlan).collect {
        case ScanNode(scan: ParquetryScan, _) if scan.sameScan == ours.sameScan && scan.needed == ours.needed => scan
      }
      found.find(scan => !seen.contains(scan.original)).orElse(found.headOption).getOrElse(ours) // one may serve two places
    case other => other
  }

  /** The plans of an expression's subqueries. The plan of a runtime filter repeats a part of the query. */
  private def subqueries(e: Expression): Seq[LogicalPlan] = e match {
    case _: DynamicPruning => Nil
    case subquery: SubqueryExpression => subquery.plan +: subquery.children.flatMap(subqueries)
    case other => other.children.flatMap(subqueries)
  }
  private def visitCommand(plan: SparkPlan): Unit = {
    plan.collect { case rows: RewriteRowsExec => rows.write.operation.scan }.flatten
      .foreach(scan => scans += ScanFacts(scan, JArray(Nil), Nil, "planned", None))
    QueryFacts.queries(plan).foreach(query => visitQuery(planned(query)))
  }
}
