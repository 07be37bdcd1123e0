package org.apache.spark.sql.parquetry.statements

import java.util.Locale

import scala.collection.mutable

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.catalog.SessionCatalog
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.CurrentOrigin
import org.apache.spark.sql.catalyst.util.{quoteIfNeeded, StringUtils}
import org.apache.spark.sql.connector.catalog.{CatalogManager, CatalogPlugin, LookupCatalog}
import org.apache.spark.sql.execution.command.{LeafRunnableCommand, SetCommand, ShowFunctionsCommand}
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.catalog.{LoadedName, LoadsTogether, PlannerCatalog}
import org.apache.spark.sql.parquetry.hash.HashFunction
import org.apache.spark.sql.parquetry.protocol.{ParquetryException, Settings}
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.write.{DynamicOverwrite, MergeSchemaOption, OverwriteOptions}
import org.apache.spark.sql.types.{BooleanType, NullType}

/**
 * Takes statements that Spark refuses for catalogs of others before any rule of ours could see them resolved.
 */
case class EarlyStatements(session: SparkSession) extends Rule[LogicalPlan] with LookupCatalog {
  override protected lazy val catalogManager: CatalogManager = session.sessionState.catalogManager

  private lazy val overwrites = new OverwriteOptions(existing, session.sessionState.sqlParser.parseExpression)
  private lazy val lacking = new LackingFeatures(existing, isOurs, analyzed)

  // a copy of a statement keeps its text and position, which errors and reports show
  override def apply(plan: LogicalPlan): LogicalPlan = CurrentOrigin.withOrigin(plan.origin) {
    expectLoads(plan)
    EmptyPartitionValues.refuse(plan, isOurs)
    replaced(plan)
  }

  /** Has the planner be asked once about all tables that a statement reads; in a view, names mean others. */
  private def expectLoads(plan: LogicalPlan): Unit = if (AnalysisContext.get.catalogAndNamespace.isEmpty) {
    val named = plan.collectWithSubqueries { case r: UnresolvedRelation if r.options.isEmpty && !r.isStreaming => r.multipartIdentifier }.distinct
    if (named.length > 1) LoadsTogether.expect(named.collect {
      case CatalogAndIdentifier(catalog: PlannerCatalog, ident) if ident.namespace().length == 1 => LoadedName(catalog, ident)
    })
  }

  private def replaced(plan: LogicalPlan): LogicalPlan = overwrites.applied(plan, isOurs) match {
    case ShowFunctions(Of(catalog, hasSome), user, system, pattern, output) =>
      ShowFunctionsOf(catalog.name(), user && hasSome, system, pattern, output)
    case DropPartitions(table @ UnresolvedTable(CatalogAndIdentifier(_: PlannerCatalog, _), _, _), parts, ifExists, purge) =>
      DropAgreeingPartitions(table, parts, ifExists, purge)
    case s @ SetCommand(Some((name, Some(value)))) if Settings.isOurs(name) => Settings.checkValue(name, value); s
    case d: DeleteFromTable => withoutStruct(d.table, Seq(d.condition), "DELETE"); d.copy(condition = typed(d.condition))
    case u: UpdateTable => withoutStruct(u.table, u.assignments ++ u.condition, "UPDATE"); u.copy(condition = u.condition.map(typed))
    case m: MergeIntoTable =>
      val actions = m.matchedActions ++ m.notMatchedActions ++ m.notMatchedBySourceActions
      withoutStruct(m.targetTable, m.mergeCondition +: actions, "MERGE")
      lacking.merge(m, m.mergeCondition +: actions)
      m.copy(matchedActions = m.matchedActions.map(typedIn), notMatchedActions = m.notMatchedActions.map(typedIn),
        notMatchedBySourceActions = m.notMatchedBySourceActions.map(typedIn))
    case w: V2WriteCommand =>
      val ready = MergeSchemaOption.evolving(w, tableOf, analyzed)
      lacking.write(w)
      ready
    case other =>
      MergeSchemaOption.checked(other, tableOf, analyzed)
      lacking.statement(other)
      other.resolveOperatorsDown { case i: InsertIntoStatement => withStaticValues(i) }
  }

  /** A condition that may be NULL: before 4.3, Spark fails on one that has no type. */
  private def typed(condition: Expression): Expression = condition match {
    case Literal(null, NullType) => Literal(null, BooleanType)
    case other => other
  }

  private def typedIn(clause: MergeAction): MergeAction = clause.mapChildren(typed).asInstanceOf[MergeAction]

  private def withStaticValues(insert: InsertIntoStatement): InsertIntoStatement = insert.table match {
    case r @ UnresolvedRelation(CatalogAndIdentifier(_: PlannerCatalog, _), options, _) =>
      insert.copy(table = r.copy(options = DynamicOverwrite.withStaticValues(options, insert)))
    case _ => insert
  }

  private def analyzed(query: LogicalPlan): LogicalPlan =
    if (query.resolved) query else session.sessionState.executePlan(query).analyzed

  private def isOurs(name: Seq[String]): Boolean = name match {
    case CatalogAndIdentifier(_: PlannerCatalog, _) => true
    case _ => false
  }

  private def existing(plan: LogicalPlan): Option[ParquetryTable] =
    try tableOf(plan) catch { case _: NoSuchTableException | _: NoSuchNamespaceException => None } // Spark raises its own error

  private def tableOf(plan: LogicalPlan): Option[ParquetryTable] = plan match {
    case UnresolvedRelation(CatalogAndIdentifier(catalog: PlannerCatalog, ident), _, _) =>
      Some(catalog.loadTable(ident)).collect { case t: ParquetryTable => t }
    case SubqueryAlias(_, child) => tableOf(child)
    case r: DataSourceV2Relation => Some(r.table).collect { case t: ParquetryTable => t }
    case _ => None
  }

  /**
   * Refuses a statement on rows that names the hidden struct. Spark would not find it, since the statement's
   * scan has only the hidden columns that Spark itself needs.
   */
  private def withoutStruct(target: LogicalPlan, said: Seq[Expression], statement: String): Unit = target match {
    case SubqueryAlias(_, child) => withoutStruct(child, said, statement)
    case UnresolvedRelation(CatalogAndIdentifier(catalog: PlannerCatalog, ident), _, _)
      if said.exists(_.exists(names(_, FileFormat.METADATA_NAME))) => catalog.loadTable(ident) match {
        case t: ParquetryTable if said.exists(_.exists(names(_, t.metadataStruct.name))) => throw new ParquetryException("UNSUPPORTED",
          s"$statement ${t.name()}: ${t.metadataStruct.name} cannot be named in a statement that changes rows: " +
            s"${t.fileColumn.name} is the path of a row's file.")
        case _ =>
      }
    case _ =>
  }
  private def names(e: Expression, struct: String): Boolean = e match {
    case a: UnresolvedAttribute => a.nameParts.exists(_.toLowerCase(Locale.ROOT).endsWith(struct))
    case _ => false
  }

  /**
   * The catalog of ours whose functions are to be shown, and whether the named namespace shows its own
   * functions.
   */
  private object Of {
    def unapply(namespace: LogicalPlan): Option[(CatalogPlugin, Boolean)] = Option(namespace).collect {
      case CurrentNamespace => (catalogManager.currentCatalog, true)
      case UnresolvedNamespace(CatalogAndNamespace(catalog, within), _) => (catalog, within.isEmpty || within == Seq("system"))
    }.filter(_._1.isInstanceOf[PlannerCatalog])
  }
}

/**
 * `SHOW FUNCTIONS`: Spark's own functions, which any current catalog can call, and the catalog's by their
 * full names.
 */
case class ShowFunctionsOf(
    catalog: String, user: Boolean, system: Boolean, pattern: Option[String], override val output: Seq[Attribute])
  extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    val builtIn = ShowFunctionsCommand(SessionCatalog.DEFAULT_DATABASE, pattern, false, system, output)
    val ours = HashFunction.all.keys.toSeq.filter(name => pattern.forall(StringUtils.filterPattern(Seq(name), _).nonEmpty))
    (if (system) builtIn.run(session) else Nil) ++
      (if (user) ours.sorted.map(name => Row(s"${quoteIfNeeded(catalog)}.system.$name")) else Nil)
  }
}

/**
 * `ALTER TABLE … DROP PARTITION` of all partitions with the given values, which may be values of only some
 * columns.
 */
case class DropAgreeingPartitions(table: LogicalPlan, parts: Seq[PartitionSpec], ifExists: Boolean, purge: Boolean)
  extends V2PartitionCommand {
  override def allowPartialPartitionSpec: Boolean = true
  override protected def withNewChildInternal(newChild: LogicalPlan): DropAgreeingPartitions = copy(table = newChild)
}

/**
 * Expands the values of some partition columns to the partitions that have them. Spark drops these as usual.
 */
object ExpandDroppedPartitions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case DropAgreeingPartitions(r @ ResolvedTable(_, _, t: ParquetryTable, _), parts, ifExists, purge)
      if parts.forall(_.isInstanceOf[ResolvedPartitionSpec]) =>
      val names = t.partitionSchema().names.toSeq
      val all = parts.collect { case s: ResolvedPartitionSpec => s }.flatMap {
        case whole if whole.names.length == names.length => Seq(whole)
        case some =>
          val found = t.listPartitionIdentifiers(some.names.toArray, some.ident).toSeq
          if (found.isEmpty && !ifExists) throw new NoSuchPartitionsException(t.name(), Seq(some.ident), t.partitionColumnsNamed(some.names))
          found.map(ResolvedPartitionSpec(names, _, None))
      }
      DropPartitions(r, distinct(all), ifExists, purge)
    case DropAgreeingPartitions(r @ ResolvedTable(_, _, t, _), parts, ifExists, purge) if !t.isInstanceOf[ParquetryTable] =>
      DropPartitions(r, parts, ifExists, purge) // a metadata table: Spark says that it has no partitions
  }

  /** Removes duplicates, as two specifications may match one partition. */
  private def distinct(all: Seq[ResolvedPartitionSpec]): Seq[ResolvedPartitionSpec] = {
    val seen = mutable.Set.empty[InternalRow]
    all.filter(spec => seen.add(spec.ident))
  }
}
