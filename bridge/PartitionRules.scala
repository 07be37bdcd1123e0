package org.apache.spark.sql.parquetry

import scala.jdk.CollectionConverters._

import org.json4s._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, Filter, LogicalPlan, OverwriteByExpression, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2Strategy}
import org.apache.spark.sql.internal.connector.{PartitionPredicateField, PartitionPredicateImpl}
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** What both rules below ask of a condition on one of our tables. */
private object OnPartitions extends PredicateHelper {
  def table(relation: DataSourceV2Relation): Option[ParquetryTable] = relation.table match {
    case t: ParquetryTable if t.partitionColumns.nonEmpty => Some(t)
    case _ => None
  }

  def columns(relation: DataSourceV2Relation, table: ParquetryTable): AttributeSet =
    AttributeSet(relation.output.filter(a => table.partitionColumns.contains(a.name)))

  /** Whether values alone decide a condition. */
  def evaluable(e: Expression): Boolean =
    e.deterministic && e.references.nonEmpty && !SubqueryExpression.hasSubquery(e) && !e.exists(_.isInstanceOf[PythonUDF])

  /** Whether a condition compares columns with what becomes a literal; the planner understands those. */
  def plain(e: Expression): Boolean = e match {
    case And(left, right) => plain(left) && plain(right)
    case Or(left, right) => plain(left) && plain(right)
    case Not(child) => plain(child)
    case comparison: BinaryComparison => ofOneColumn(comparison)
    case match_ : StringPredicate => ofOneColumn(match_)
    case in: In => ofOneColumn(in)
    case InSet(value, _) => isOperand(value)
    case IsNull(value) => isOperand(value)
    case IsNotNull(value) => isOperand(value)
    case other => isOperand(other)
  }
  private def isOperand(e: Expression): Boolean = e.isInstanceOf[Attribute] || e.foldable // what is not folded yet will be
  private def ofOneColumn(e: Expression): Boolean =
    e.children.forall(isOperand) && e.children.count(_.isInstanceOf[Attribute]) <= 1

  def aliases(below: Project): AttributeMap[Alias] = getAliasMap(below)
  def inlined(e: Expression, aliases: AttributeMap[Alias]): Expression = replaceAlias(e, aliases)
  def conjuncts(e: Expression): Seq[Expression] = splitConjunctivePredicates(e)
  def part(e: Expression, of: AttributeSet): Option[Expression] = extractPredicatesWithinOutputSet(e, of)
}

/**
 * `(upper(p) = 'A' AND x > 1) OR p = 'b'` says of partitions that `upper(p) = 'A' OR p = 'b'`. Spark tells its own
 * sources so, and a V2 source only what stands alone: here it is put beside.
 */
object PartsOnPartitions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case f @ Filter(condition, relation: DataSourceV2Relation) =>
      OnPartitions.table(relation).map(parts(condition, relation, _)).filter(_.nonEmpty)
        .fold(f)(found => f.copy(condition = found.foldLeft(condition)(And(_, _))))
  }

  private def parts(condition: Expression, relation: DataSourceV2Relation, table: ParquetryTable): Seq[Expression] = {
    val columns = OnPartitions.columns(relation, table)
    val conjuncts = OnPartitions.conjuncts(condition)
    conjuncts.filterNot(_.references.subsetOf(columns)).flatMap(OnPartitions.part(_, columns))
      .filter(e => OnPartitions.evaluable(e) && !OnPartitions.plain(e) && !conjuncts.exists(_.semanticEquals(e)))
      .map { e => e.setTagValue(PartitionConditions.follows, ()); e }
  }
}

/**
 * The condition of a DELETE or of a REPLACE WHERE has to be translated whole for a source. One that is about
 * partition columns and has no such form becomes the values for which it holds among the table's partitions.
 */
object ConditionsOfCommands extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case d @ DeleteFromTable(r: DataSourceV2Relation, condition) if d.resolved => d.copy(condition = settled(r, condition))
    // Spark pads a char there, and computes what a condition needs twice: `upper(p) BETWEEN 'A' AND 'B'`
    case d @ DeleteFromTable(below @ Project(_, r: DataSourceV2Relation), condition) if d.resolved =>
      d.copy(condition = settled(r, condition, OnPartitions.aliases(below)))
    case o @ OverwriteByExpression(r: DataSourceV2Relation, condition, _, _, _, _, _, _) =>
      o.copy(deleteExpr = settled(r, condition))
  }

  private def settled(relation: DataSourceV2Relation, given: Expression,
      aliases: AttributeMap[Alias] = AttributeMap.empty): Expression =
    OnPartitions.table(relation).fold(given) { table =>
      val columns = OnPartitions.columns(relation, table)
      val computed = AttributeMap(aliases.filterNot { case (_, alias) => relation.output.exists(_.name == alias.name) }.toSeq)
      // a statement may write columns' names in any case
      val condition = OnPartitions.inlined(given, computed).transform {
        case a: AttributeReference => relation.output.find(_.exprId == a.exprId).getOrElse(a)
      }
      val (functions, others) = OnPartitions.conjuncts(condition).partitionMap { c =>
        val whole = OnPartitions.inlined(c, aliases)
        if (OnPartitions.evaluable(whole) && !OnPartitions.plain(c) && whole.references.subsetOf(columns)) scala.Left(whole)
        else scala.Right(c)
      }
      if (functions.isEmpty) condition
      else (others ++ evaluated(table, relation.output, functions, others)).reduceLeft(And(_, _))
    }

  /** What fails for a partition that another condition leaves out does not fail behind it; else the error is Spark's own. */
  private def evaluated(table: ParquetryTable, output: Seq[AttributeReference], functions: Seq[Expression],
      others: Seq[Expression]): Seq[Expression] = {
    val fields = table.partitionColumns.map(name => PartitionPredicateField(Seq(name), output.find(_.name == name).get))
    val known = others.flatMap(DataSourceV2Strategy.translateFilterV2(_)).map(Json.ofExpression)
    val found = PartitionConditions.values(table, known, functions.flatMap(PartitionPredicateImpl(_, fields, false)))
    if (found.length < functions.length) functions
    else if (found.forall(_.exact)) found.map(anyOf(_, output))
    else if (functions.length > 1) evaluated(table, output, Seq(functions.reduceLeft(And(_, _))), others)
    else throw found.head.failure.get
  }

  private def anyOf(values: PartitionConditions.Values, output: Seq[Attribute]): Expression = {
    val columns = PartitionConditions.names(values.condition).map(name => output.find(_.name == name).get)
    def literal(value: JValue, column: Attribute) = Literal(Json.toValue(value, column.dataType), column.dataType)
    val (withNull, whole) = values.kept.map(_.children).partition(_.contains(JNull))
    val wholeOnes = columns match {
      case Seq(column) => if (whole.isEmpty) Nil else Seq(In(column, whole.map(row => literal(row.head, column))))
      case _ => whole.map(same(_, columns, literal))
    }
    Chains.balanced(wholeOnes ++ withNull.map(same(_, columns, literal)), Or(_, _), Literal.FalseLiteral)
  }

  private def same(row: Seq[JValue], columns: Seq[Attribute], literal: (JValue, Attribute) => Literal): Expression =
    row.zip(columns).map {
      case (JNull, column) => IsNull(column)
      case (value, column) => EqualTo(column, literal(value, column))
    }.reduceLeft[Expression](And(_, _))
}

/**
 * The planner checks the rows of a REPLACE WHERE by a condition that it understands. By one that it does not, Spark
 * checks them: the first row outside fails its task, with the error that the planner would have told.
 */
object RowsOfReplaceWhere extends Rule[LogicalPlan] {
  /** Says to the planner that the rows are checked. */
  private val checked = "parquetry.rows-checked"
  private val longestValue = 100

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case o @ OverwriteByExpression(r: DataSourceV2Relation, condition, query, options, _, _, _, _)
        if o.resolved && !options.contains(checked) && r.table.isInstanceOf[ParquetryTable] &&
          !OnPartitions.plain(condition) && OnPartitions.evaluable(condition) =>
      val marked = options ++ r.options.asCaseSensitiveMap().asScala + (checked -> "true")
      // statement and relation each carry options or none; Spark refuses two that differ
      val relation = if (r.options.isEmpty) r else r.copy(options = new CaseInsensitiveStringMap(marked.asJava))
      o.copy(table = relation, query = guarded(r, condition, query), writeOptions = marked)
  }

  private def guarded(relation: DataSourceV2Relation, condition: Expression, query: LogicalPlan): LogicalPlan = {
    val rows = AttributeMap(relation.output.zip(query.output))
    val holds = condition.transform { case a: Attribute => rows.getOrElse(a, a) }
    val values = condition.references.toSeq.flatMap { a =>
      val shown = Coalesce(Seq(Cast(rows(a), StringType, Some(conf.sessionLocalTimeZone)), Literal("NULL")))
      Seq(Literal(s"\n${a.name} = "), Substring(shown, Literal(1), Literal(longestValue)))
    }
    val sql = PartitionConditions.written(condition.transform { case a: AttributeReference => a.withQualifier(Nil) })
    val told = Concat(Literal(s"$checked: $sql") +: values)
    val first = query.output.head
    val guard = If(EqualNullSafe(holds, Literal.TrueLiteral), first, Cast(new RaiseError(told), first.dataType))
    Project(Alias(guard, first.name)() +: query.output.tail, query)
  }
}
