package org.apache.spark.sql.parquetry.joingraph

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.predicates.FieldPath
import org.apache.spark.sql.parquetry.protocol.StepFacts
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.ScanRelation
import org.apache.spark.sql.types._

/**
 * One of our scans that a join key comes from.
 *
 * @param key the join key as an expression of the scan's columns
 * @param steps the nodes from the join down to the scan: a condition on the key may not be valid below some
 * @param nullSafe whether the key is one of the two that Spark makes of `<=>`
 */
case class KeySource(
    relation: DataSourceV2ScanRelation, scan: ParquetryScan, key: Expression, steps: Seq[StepFacts], nullSafe: Boolean = false) {
  /** The form of the key, by its name in the protocol (`Form` in `joins/runtime/candidates.py`). */
  def form: String = key match {
    case _ if JoinRanges.extremes(key).nonEmpty => "ranges"
    case FieldPath(_) => "column"
    case _ if ofPartitions => "partitions"
    case _ if widened.isDefined => "widened"
    case _ if KeyTuple.isFunction(key) && !nullSafe => "function"
    case _ => "computed"
  }
  def ofPartitions: Boolean = key.deterministic && !key.exists(_.isInstanceOf[PythonFuncExpression]) &&
    key.references.forall(a => scan.table.partitionColumns.contains(a.name))

  /**
   * The column that the key casts to a wider type, and the cast back. The wider type has all values of the
   * column, so that the cast back restores them.
   */
  lazy val widened: Option[(AttributeReference, Expression => Cast)] = key match {
    case Cast(column: AttributeReference, to, zone, _) if !ofPartitions && KeySource.widens(column.dataType, to, zone) =>
      Some((column, Cast(_, column.dataType, zone, EvalMode.TRY)))
    case _ => None
  }
}

object KeySource {
  def widens(from: DataType, to: DataType, zone: Option[String]): Boolean = (from, to) match {
    case (narrow: IntegralType, wide: IntegralType) => narrow.defaultSize < wide.defaultSize
    case (narrow: IntegralType, wide: DecimalType) => wide.isWiderThan(narrow)
    case (ByteType | ShortType | IntegerType, DoubleType) | (ByteType | ShortType, FloatType) | (FloatType, DoubleType) => true
    case (narrow: DecimalType, wide: DecimalType) => wide.isWiderThan(narrow)
    case (DateType, TimestampNTZType) => true
    // if a zone has skipped a day, the first moment of that day is the first moment of the next one
    case (DateType, TimestampType) => zone.exists(DateTimeUtils.getZoneId(_).getRules.isFixedOffset)
    case _ => false
  }

  /** Follows a key down a plan, to each scan of ours that it comes from. */
  def of(key: Expression, plan: LogicalPlan, steps: Seq[StepFacts] = Nil): Seq[KeySource] = plan match {
    case _ if key.references.isEmpty => Nil
    case relation @ ScanRelation(_, scan: ParquetryScan, _, _, _) =>
      if (key.references.subsetOf(relation.outputSet)) Seq(KeySource(relation, scan, bare(key), steps)) else Nil
    case node => Lineage.below(key, node).flatMap { case (below, child) => of(below, child, steps :+ step(node, child, below)) }
  }

  /**
   * Removes Spark's normalization of a float for hashing: for the planner both zeros are equal, and so are
   * all NaN.
   */
  private def bare(key: Expression): Expression = key match {
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(number)) => number
    case other => other
  }

  /** Whether a key is the same in all rows with the same values of `keys`. */
  private def fixed(keys: Seq[Expression], key: Expression): Boolean = keys.exists(_.semanticEquals(key)) ||
    (key.deterministic && !key.exists(_.isInstanceOf[AggregateExpression]) &&
      key.references.forall(a => keys.exists(_.semanticEquals(a))))

  private def step(node: LogicalPlan, child: LogicalPlan, key: Expression): StepFacts = {
    def facts(name: String, side: String = "", keyed: Boolean = false) =
      StepFacts(name, side, keyed, node.expressions.forall(_.deterministic))
    node match {
      case join: Join => facts(LogicalNames.of(join.joinType), side = if (child eq join.left) "left" else "right")
      case aggregate: Aggregate => facts(node.nodeName, keyed = fixed(aggregate.groupingExpressions, key))
      case window: Window => facts(node.nodeName, keyed = fixed(window.partitionSpec, key))
      case limit: WindowGroupLimit => facts(node.nodeName, keyed = fixed(limit.partitionSpec, key))
      case _ => facts(node.nodeName)
    }
  }
}
