package org.apache.spark.sql.parquetry.buckets

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.hash.BucketFunction
import org.apache.spark.sql.parquetry.joingraph.{EquiJoin, JoinSide}
import org.apache.spark.sql.parquetry.protocol.{BucketsAnswer, JoinsAnswer}
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.{Bucketing, BucketTransform, ScanRelation}

/**
 * Has the scans on both sides of a join report the same number of buckets to Spark. The planner chooses it,
 * and leaves it to Spark where Spark folds the buckets as well (`joins/bucket_counts.py`). This rule finds
 * the joins by buckets, and asks once for all joins of a plan if the numbers of some join differ.
 */
object AgreeOnBucketCounts extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    val joins = if (conf.v2BucketingEnabled) bucketJoins(plan) else Nil
    if (joins.exists(_.differs)) recounted(plan, joins) else plan
  }

  /** The joins by the bucket columns of both sides, each after the joins below it. */
  private def bucketJoins(plan: LogicalPlan): Seq[BucketJoin] = {
    val found = Seq.newBuilder[BucketJoin]
    plan.foreachUp {
      case EquiJoin(left, right, _) =>
        for (l <- bucketed(left); r <- bucketed(right); join = BucketJoin(l, r) if join.byBuckets) found += join
      case _ =>
    }
    found.result()
  }

  private case class BucketJoin(left: BucketedSide, right: BucketedSide) {
    private val functions = left.functions.zip(right.functions)
    def byBuckets: Boolean = left.functions.length == right.functions.length && functions.forall { case ((f, a), (g, b)) =>
      f.copy(count = g.count).canonicalName() == g.canonicalName() && left.side.columns.zip(right.side.columns).exists {
        case (Some(one), Some(other)) => one.exprId == a.exprId && other.exprId == b.exprId
        case _ => false
      }
    }
    def differs: Boolean = left.buckets.count != right.buckets.count
  }

  /**
   * A side of a join by buckets.
   *
   * @param scan the scan whose buckets its rows are in
   */
  private case class BucketedSide(side: JoinSide, scan: DataSourceV2ScanRelation, buckets: BucketsAnswer, functions: Seq[(BucketFunction, Attribute)]) {
    /** All scans of the side with the same hash: some are joined with the first in these buckets. */
    val scans: Seq[DataSourceV2ScanRelation] = scan +: side.scans.filter(other => !(other eq scan) && bucketsOf(other).exists(found =>
      found.version == buckets.version && found.types == buckets.types))
  }

  private def bucketed(side: JoinSide): Option[BucketedSide] = {
    val columns = side.columns.flatten.map(_.exprId).toSet
    side.scans.collectFirst(Function.unlift { relation =>
      for {
        buckets <- bucketsOf(relation)
        found = functions(relation) if found.length == buckets.columns.length && found.forall { case (_, a) => columns(a.exprId) }
      } yield BucketedSide(side, relation, buckets, found)
    })
  }

  private def bucketsOf(relation: DataSourceV2ScanRelation): Option[BucketsAnswer] = relation.scan match {
    case scan: ParquetryScan if relation.keyGroupedPartitioning.isDefined => scan.buckets
    case _ => None
  }

  private def functions(relation: DataSourceV2ScanRelation): Seq[(BucketFunction, Attribute)] =
    relation.keyGroupedPartitioning.toSeq.flatten.collect { case BucketTransform(f: BucketFunction, Seq(a: Attribute)) => f -> a }

  private def recounted(plan: LogicalPlan, joins: Seq[BucketJoin]): LogicalPlan = {
    val scans = joins.flatMap(join => join.left.scans ++ join.right.scans).distinctBy(System.identityHashCode)
    val counts = ask(scans, joins)
    plan.transform {
      case relation @ ScanRelation(_, scan: ParquetryScan, _, Some(functions), _) =>
        counts.lift(scans.indexWhere(_ eq relation)).filter(count => !scan.buckets.exists(_.count == count))
          .flatMap(count => scan.withBucketCount(count).map(found => relation.copy(scan = found, keyGroupedPartitioning = Some(functions.map {
            case t @ BucketTransform(f: BucketFunction, _) => t.copy(function = f.copy(count = count))
            case other => other
          })))).getOrElse(relation)
    }
  }

  private def ask(scans: Seq[DataSourceV2ScanRelation], joins: Seq[BucketJoin]): Seq[Int] = {
    def numbers(of: BucketedSide): JValue = JArray(of.scans.map(one => JInt(scans.indexWhere(_ eq one))).toList)
    val catalog = scans.map(_.scan).collectFirst { case scan: ParquetryScan => scan.table.ref }.get
    catalog.ask("plan_joins", "buckets" -> JObject(
      "scans" -> JArray(scans.flatMap(bucketsOf).map(found =>
        JObject("count" -> JInt(found.count), "held" -> JInt(found.held), "larger" -> JBool(found.larger),
          "ordered" -> JBool(found.order.nonEmpty))).toList),
      "joins" -> JArray(joins.map(join => JObject(
        "columns" -> JInt(join.left.functions.length), "left" -> numbers(join.left), "right" -> numbers(join.right))).toList),
      "foldable" -> JBool(Bucketing.reduces))).as[JoinsAnswer].bucketCounts.map(_.toInt)
  }
}
