package org.apache.spark.sql.parquetry.audit

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.types.{ByteType, DataType, DecimalType, DoubleType, FloatType, IntegerType, ShortType}

/**
 * How much of a query's rows two runs must have in common. SQL leaves some of it open: the order of equal
 * rows, the rows of a LIMIT, the last digits of a sum of floats.
 */
sealed trait Comparable
/** Both runs give the same multiset of rows, as far as these columns show. */
case class SameRows(columns: Seq[Int]) extends Comparable
/** The runs may differ; the reason is for the report. */
case class Incomparable(reason: String) extends Comparable

object Comparable {
  /** How much of a query's rows two runs must have in common, by its plan before it is optimized. */
  def of(plan: LogicalPlan): Comparable = {
    val search = new Search
    search.visit(plan)
    search.reason.fold[Comparable](SameRows(plan.output.indices.filterNot(i => search.unstable(plan.output(i)))))(Incomparable(_))
  }

  private class Search {
    var reason = Option.empty[String]
    private val open = mutable.Set.empty[ExprId]
    private val definitions = mutable.Map.empty[Long, CTERelationDef]
    def unstable(a: Attribute): Boolean = open(a.exprId)

    private def refuse(why: String): Unit = if (reason.isEmpty) reason = Some(why)
    /** Whether two runs may give different values of an expression for the same row. */
    private def isOpen(e: Expression): Boolean = e.references.exists(unstable) || e.exists(differs)

    def visit(plan: LogicalPlan): Unit = {
      plan.children.foreach(visit)
      val before = reason
      plan match {
        case limit @ (_: GlobalLimit | _: LocalLimit | _: Offset | _: Tail) => limited(limit)
        case _: Sample => refuse("the rows of a TABLESAMPLE are drawn")
        case leaf: LeafNode if !repeats(leaf) => refuse(s"${leaf.nodeName} may give other rows the second time")
        case typed @ (_: MapPartitions | _: MapElements | _: TypedFilter | _: MapGroups | _: CoGroup) =>
          refuse(s"${typed.nodeName} is a program's function")
        case other if other.nodeName.contains("Pandas") || other.nodeName.contains("Arrow") =>
          refuse(s"${other.nodeName} is a program's function")
        case _ => ()
      }
      plan match {
        case project: Project => mark(project.projectList)
        case aggregate: Aggregate =>
          if (aggregate.groupingExpressions.exists(isOpen)) refuse("groups are of values that may differ")
          mark(aggregate.aggregateExpressions)
        case window: Window =>
          mark(window.windowExpressions)
          if ((window.partitionSpec ++ window.orderSpec).exists(isOpen)) mark(window.windowExpressions, all = true)
        case filter: Filter if isOpen(filter.condition) => refuse("a condition is on values that may differ")
        case join: Join if join.condition.exists(isOpen) => refuse("a join is on values that may differ")
        case generate: Generate if isOpen(generate.generator) => refuse("a generator has values that may differ")
        case union: Union => union.children.foreach(child => union.output.zip(child.output).foreach { case (a, b) => if (unstable(b)) open += a.exprId })
        case definition: CTERelationDef => definitions(definition.id) = definition
        case reference: CTERelationRef => definitions.get(reference.cteId).foreach(of =>
          reference.output.zip(of.output).foreach { case (a, b) => if (unstable(b)) open += a.exprId })
        case sets @ (_: Intersect | _: Except) if sets.children.exists(_.output.exists(unstable)) =>
          refuse(s"${sets.nodeName} is of values that may differ")
        case distinct: Distinct if distinct.output.exists(unstable) => refuse("DISTINCT is of values that may differ")
        case _: Deduplicate => refuse("dropDuplicates takes any row of several")
        case other if other.expressions.exists(isOpen) && !other.isInstanceOf[Sort] => refuse(s"${other.nodeName} uses values that may differ")
        case _ => ()
      }
      if (reason.isEmpty && before.isEmpty) plan.subqueries.foreach { query =>
        visit(query)
        if (query.output.exists(unstable)) refuse("a subquery has values that may differ")
      }
    }

    private def mark(named: Seq[NamedExpression], all: Boolean = false): Unit = named.foreach {
      case _: Attribute if !all =>
      case e => if (all || isOpen(e)) open += e.exprId
    }

    /**
     * Marks all columns of a LIMIT but the keys of the sort below it. The keys are the same in both runs.
     * Other columns may come from other rows with equal keys.
     */
    private def limited(limit: LogicalPlan): Unit = {
      def sorted(plan: LogicalPlan): Option[Sort] = plan match {
        case sort: Sort if sort.global => Some(sort)
        case node @ (_: GlobalLimit | _: LocalLimit | _: Offset | _: Project) => sorted(node.children.head)
        case _ => None
      }
      val keys = sorted(limit).map(_.order.map(_.child)).getOrElse(Nil)
      if (keys.exists(isOpen)) refuse("the first rows of an order by values that may differ")
      limit.output.filterNot(column => keys.exists(_.semanticEquals(column))).foreach(column => open += column.exprId)
    }
  }

  private def isFloat(dataType: DataType): Boolean = dataType == FloatType || dataType == DoubleType

  private def differs(e: Expression): Boolean = e match {
    case _: CurrentTimestampLike | _: CurrentDate | _: LocalTimestamp => true
    case aggregate: AggregateFunction => aggregate match {
      case _: Count | _: Min | _: Max | _: BoolAnd | _: BoolOr | _: CountIf | _: BitAndAgg | _: BitOrAgg | _: BitXorAgg => false
      case sum: Sum => isFloat(sum.dataType)
      case average: Average => average.child.dataType match {
        case _: DecimalType | ByteType | ShortType | IntegerType => false // sums of integers below 2^53 are exact
        case _ => true
      }
      case _ => true
    }
    case _: RowNumber | _: NTile | _: FrameLessOffsetWindowFunction | _: NthValue => true
    case _: RankLike => false
    case SpecifiedWindowFrame(RowFrame, lower, upper) => !(lower == UnboundedPreceding && upper == UnboundedFollowing)
    case other => !other.isInstanceOf[WindowFunction] && isNondeterministic(other)
  }
  private def isNondeterministic(e: Expression): Boolean =
    !e.deterministic && e.children.forall(_.deterministic) && !e.isInstanceOf[SubqueryExpression]

  /** Whether two runs of a leaf give the same rows. */
  private def repeats(leaf: LeafNode): Boolean = leaf match {
    case relation: DataSourceV2Relation => relation.table.isInstanceOf[ParquetryTable]
    case relation: LogicalRelation => relation.relation.isInstanceOf[HadoopFsRelation]
    case _: LocalRelation | _: OneRowRelation | _: Range | _: LogicalRDD | _: CTERelationRef => true
    case _ => false
  }
}
