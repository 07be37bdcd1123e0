package org.apache.spark.sql.parquetry.buckets

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.hash.BucketFunction
import org.apache.spark.sql.parquetry.joingraph.{EquiJoin, JoinSide}
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
object AgreeOnBucketCounts extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.v2BucketingEnabled) plan
    else plan.transformUp {
      case join @ EquiJoin(left, right, _) => (bucketed(left), bucketed(right)) match {
        case (Some(l), Some(r)) if l.pairsWith(r) =>
          val wanted = l.buckets.larger || r.buckets.larger
          val (few, many) = (math.min(l.count, r.count), math.max(l.count, r.count))
          val divisor = BigInt(few).gcd(BigInt(many)).toInt
          val count =
            if (wanted && divisor == few) many
            else if (divisor > 1 && (!Bucketing.reduces || l.functions.length > 1 && divisor <= l.functions.length)) divisor
            else 0
          if (few == many || count == 0) join
          else join.copy(left = rebucketed(count, left.plan, l), right = rebucketed(count, right.plan, r))
        case _ => join
      }
    }

  /** A side of a join, with one of the scans whose buckets its rows are in. */
  private case class BucketedSide(side: JoinSide, buckets: BucketsAnswer, functions: Seq[(BucketFunction, Attribute)]) {
    def count: Int = buckets.count
    def pairsWith(other: BucketedSide): Boolean =
      functions.length == other.functions.length && functions.zip(other.functions).forall { case ((f, a), (g, b)) =>
        f.copy(count = g.count).canonicalName() == g.canonicalName() && side.columns.zip(other.side.columns).exists {
          case (Some(left), Some(right)) => left.exprId == a.exprId && right.exprId == b.exprId
          case _ => false
        }
      }
  }

  private def bucketed(side: JoinSide): Option[BucketedSide] = {
    val columns = side.columns.flatten.map(_.exprId).toSet
    side.scans.collectFirst(Function.unlift { relation =>
      for {
        answer <- buckets(relation)
        found <- functions(relation, answer) if found.forall { case (_, a) => columns(a.exprId) }
      } yield BucketedSide(side, answer, found)
    })
  }

  private def buckets(relation: DataSourceV2ScanRelation): Option[BucketsAnswer] = relation.scan match {
    case scan: ParquetryScan => scan.buckets
    case _ => None
  }

  private def functions(relation: DataSourceV2ScanRelation, buckets: BucketsAnswer): Option[Seq[(BucketFunction, Attribute)]] =
    relation.keyGroupedPartitioning.map(_.collect {
      case BucketTransform(f: BucketFunction, Seq(a: Attribute)) => f -> a
    }).filter(found => found.nonEmpty && buckets.columns.length == found.length)

  /**
   * Changes the bucket count of all scans of a side that are already joined with one another by these
   * buckets.
   */
  private def rebucketed(count: Int, plan: LogicalPlan, side: BucketedSide): LogicalPlan = plan match {
    case relation @ ScanRelation(_, scan: ParquetryScan, _, Some(functions), _)
        if scan.buckets.exists(b => b.count != count && (b.count == side.count || b.count % count == 0) &&
          b.version == side.buckets.version && b.columns.map(_._2) == side.buckets.columns.map(_._2)) =>
      scan.withBucketCount(count).fold(plan)(found => relation.copy(scan = found, keyGroupedPartitioning = Some(functions.map {
        case t @ BucketTransform(f: BucketFunction, _) => t.copy(function = f.copy(count = count))
        case other => other
      })))
    case _: Project | _: Filter | _: Join => plan.withNewChildren(plan.children.map(rebucketed(count, _, side)))
    case other => other
  }
}
