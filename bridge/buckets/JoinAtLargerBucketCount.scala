package org.apache.spark.sql.parquetry.buckets

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.hash.BucketFunction
import org.apache.spark.sql.parquetry.protocol.BucketsAnswer
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.{Bucketing, BucketTransform, ScanRelation}

/**
 * Has the scans on both sides of a join report the same number of buckets to Spark, in two cases that Spark
 * does not solve by itself.
 *
 * `bucket-join = larger`: tables of 3 and of 6 buckets are joined in 6 buckets, while Spark would fold them
 * to 3. Each bucket of the table of 3 is read for two of the 6, and each time only the rows of one of these
 * are passed on (`BucketReaderFactory`).
 *
 * Several columns: Spark can fold such buckets only to more buckets than columns (`BucketFunction`). So
 * tables of 4 and of 6 buckets by two columns report 2 buckets. Spark 4.1 cannot fold any buckets.
 *
 * The planner knows a table's setting, bucket count and columns; this rule compares them.
 */
object JoinAtLargerBucketCount extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.v2BucketingEnabled) plan
    else plan.transformUp {
      case join @ Join(left, right, _, _, _) => join match {
        case ExtractEquiJoinKeys(_, leftKeys, rightKeys, _, _, _, _, _) =>
          val pairs = leftKeys.zip(rightKeys)
          (sides(left, leftKeys), sides(right, rightKeys)) match {
            case (Some(l), Some(r)) if l.functions.length == r.functions.length && l.pairsWith(r, pairs) =>
              val wanted = l.scan.larger || r.scan.larger
              val (few, many) = (math.min(l.count, r.count), math.max(l.count, r.count))
              val divisor = BigInt(few).gcd(BigInt(many)).toInt
              val count =
                if (wanted && divisor == few) many
                else if (divisor > 1 && (!Bucketing.reduces || l.functions.length > 1 && divisor <= l.functions.length)) divisor
                else 0
              if (few == many || count == 0) join
              else join.copy(left = rebucketed(count, left, l), right = rebucketed(count, right, r))
            case _ => join
          }
        case _ => join
      }
    }

  /** A side of a join, with one of the scans whose buckets its rows are in. */
  private case class Side(scan: BucketsAnswer, functions: Seq[(BucketFunction, Attribute)], origins: Map[ExprId, ExprId]) {
    def count: Int = scan.count
    private def is(key: Expression, column: Attribute): Boolean = key match {
      case a: Attribute => origins.get(a.exprId).contains(column.exprId)
      case _ => false
    }
    def pairsWith(other: Side, pairs: Seq[(Expression, Expression)]): Boolean =
      functions.zip(other.functions).forall { case ((f, a), (g, b)) =>
        f.copy(count = g.count).canonicalName() == g.canonicalName() &&
          pairs.exists { case (left, right) => is(left, a) && other.is(right, b) }
      }
  }

  private def sides(plan: LogicalPlan, keys: Seq[Expression]): Option[Side] = {
    val attributes = keys.collect { case a: Attribute => a }
    val from = origins(plan)
    val columns = attributes.flatMap(a => from.get(a.exprId)).toSet
    scans(plan).collectFirst(Function.unlift { relation =>
      functions(relation).filter(_.forall { case (_, a) => columns(a.exprId) }).flatMap { found =>
        buckets(relation).map(Side(_, found, from))
      }
    })
  }

  private def buckets(relation: DataSourceV2ScanRelation): Option[BucketsAnswer] = relation.scan match {
    case scan: ParquetryScan => scan.buckets
    case _ => None
  }

  private def functions(relation: DataSourceV2ScanRelation): Option[Seq[(BucketFunction, Attribute)]] =
    relation.keyGroupedPartitioning.map(_.collect {
      case BucketTransform(f: BucketFunction, Seq(a: Attribute)) => f -> a
    }).filter(found => found.nonEmpty && buckets(relation).exists(_.columns.length == found.length))

  /** The scans of a plan that are below nodes which move no row to another partition. */
  def scans(plan: LogicalPlan): Seq[DataSourceV2ScanRelation] = plan match {
    case relation: DataSourceV2ScanRelation => Seq(relation)
    case _: Project | _: Filter | _: Join => plan.children.flatMap(scans)
    case _ => Nil
  }

  /** Maps each attribute of a plan to the equal attribute of a scan. */
  def origins(plan: LogicalPlan): Map[ExprId, ExprId] = plan match {
    case relation: DataSourceV2ScanRelation => relation.output.map(a => a.exprId -> a.exprId).toMap
    case Project(list, child) =>
      val below = origins(child)
      list.collect {
        case a: Attribute => a.exprId -> below.get(a.exprId)
        case alias @ Alias(a: Attribute, _) => alias.exprId -> below.get(a.exprId)
      }.collect { case (id, Some(origin)) => id -> origin }.toMap
    case _: Filter | _: Join => plan.children.flatMap(origins).toMap
    case _ => Map.empty
  }

  /**
   * Changes the bucket count of all scans of a side that are already joined with one another by these
   * buckets.
   */
  private def rebucketed(count: Int, plan: LogicalPlan, side: Side): LogicalPlan = plan match {
    case relation @ ScanRelation(_, scan: ParquetryScan, _, Some(functions), _)
        if scan.buckets.exists(b => b.count != count && (b.count == side.count || b.count % count == 0) &&
          b.version == side.scan.version && b.types == side.scan.types) =>
      scan.withBucketCount(count).fold(plan)(found => relation.copy(scan = found, keyGroupedPartitioning = Some(functions.map {
        case t @ BucketTransform(f: BucketFunction, _) => t.copy(function = f.copy(count = count))
        case other => other
      })))
    case _: Project | _: Filter | _: Join => plan.withNewChildren(plan.children.map(rebucketed(count, _, side)))
    case other => other
  }
}
