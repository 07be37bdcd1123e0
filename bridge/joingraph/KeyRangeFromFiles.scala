package org.apache.spark.sql.parquetry.joingraph

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, Max, Min}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.plans.{Inner, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.predicates.BalancedChains
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.ScanRelation
import org.apache.spark.sql.types._

/**
 * A plan with the minimum and maximum of another plan's key, by file statistics, in place of the key.
 *
 * @param relation the scan that the key comes from
 * @param plan has a row for each partition that the other plan has rows of, and maybe for more
 */
case class KeyRangeFromFiles(relation: DataSourceV2ScanRelation, plan: LogicalPlan, least: Attribute, greatest: Attribute) {
  /**
   * The condition that a column satisfies if it equals the key of some row. The ids are for the two
   * subqueries.
   */
  def filter(column: Expression, exprIds: Seq[ExprId]): Expression = And(
    GreaterThanOrEqual(column, ScalarSubquery(found(Min(least)), exprId = exprIds(0))),
    LessThanOrEqual(column, ScalarSubquery(found(Max(greatest)), exprId = exprIds(1))))

  private def found(function: AggregateFunction): LogicalPlan =
    Aggregate(Nil, Seq(Alias(function.toAggregateExpression(), "value")()), Repartition(1, shuffle = false, plan))
}

/**
 * Finds this plan. It keeps conditions and joins that are about partition values alone; the others could only
 * remove more rows. A condition that may fail for some value is left out, too: in the query, another
 * condition may remove the rows with this value first.
 */
object KeyRangeFromFiles extends PredicateHelper {
  def of(key: Expression, plan: LogicalPlan): Option[KeyRangeFromFiles] = key match {
    case column: Attribute if hasEnds(column.dataType) => ends(column, plan)
    case _ => None
  }

  private def hasEnds(dataType: DataType): Boolean = dataType match {
    case _: IntegralType | _: DecimalType | DateType | TimestampType | TimestampNTZType => true
    case _ => false
  }

  private def ends(key: Attribute, plan: LogicalPlan): Option[KeyRangeFromFiles] = plan match {
    case relation @ ScanRelation(_, scan: ParquetryScan, output, _, _) if plan.outputSet.contains(key) =>
      val (names, column) = (scan.partitionSchema.fieldNames.toSet, output.find(_.exprId == key.exprId).get)
      val partitions = output.filter(a => names(a.name))
      val told = new KeyRangeScan(scan, DataTypeUtils.fromAttributes(partitions), column.name, column.dataType)
      val Seq(least, greatest) = KeyRangeScan.names.map(AttributeReference(_, column.dataType)())
      Some(KeyRangeFromFiles(relation,
        relation.copy(scan = told, output = partitions ++ Seq(least, greatest), keyGroupedPartitioning = None, ordering = None),
        least, greatest))
    case _: Join | _: UnaryNode => Lineage.below(key, plan) match {
      case Seq((column: Attribute, child)) if plan.isInstanceOf[Project] || column.exprId == key.exprId =>
        ends(column, child).map(above(plan, child, _))
      case _ => None
    }
    case _ => None
  }

  /** The plan with a node above it; of an aggregate, the nodes above refer to grouping columns alone. */
  private def above(node: LogicalPlan, child: LogicalPlan, found: KeyRangeFromFiles): KeyRangeFromFiles = {
    def there(e: Expression) = e.references.subsetOf(found.plan.outputSet)
    node match {
      case Filter(condition, _) => BalancedChains.all(splitConjunctivePredicates(condition).filter(e => there(e) && (JoinRanges.total(e) || simple(e))))
        .fold(found)(kept => found.copy(plan = Filter(kept, found.plan)))
      case Project(list, _) =>
        val kept = list.filter(e => there(e) && JoinRanges.total(e))
        found.copy(plan = Project(kept ++ Seq(found.least, found.greatest), found.plan))
      case join: Join => within(join, child, found)
      case _ => found
    }
  }

  /**
   * Whether an expression is a runtime filter whose values come from one table. Filters with values of joins,
   * which have filters again, would make the plan grow without end.
   */
  private def simple(e: Expression): Boolean = e match {
    case values: DynamicPruningSubquery => values.pruningKey.isInstanceOf[Attribute] && values.plan.collectLeaves().length == 1
    case _ => false
  }

  /** Adds a join that prunes partitions, if its other side is broadcast: Spark then reuses the broadcast. */
  private def within(join: Join, side: LogicalPlan, found: KeyRangeFromFiles): KeyRangeFromFiles = {
    val other = if (join.left eq side) join.right else join.left
    val there = BroadcastSide.find(join).exists(_ == (if (join.left eq side) BuildRight else BuildLeft))
    val ofPartitions = join.condition.exists(e =>
      e.references.subsetOf(found.plan.outputSet ++ other.outputSet) && JoinRanges.total(e))
    val leavesOut = join.joinType == Inner || (join.joinType == LeftSemi && (join.left eq side))
    if (!there || !ofPartitions || !leavesOut) found
    else found.copy(plan = if (join.left eq side) join.copy(left = found.plan) else join.copy(right = found.plan))
  }
}
