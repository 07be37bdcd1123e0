package org.apache.spark.sql.parquetry.buckets

import java.util.Locale

import scala.util.Random

import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.parquetry.hash.{BucketHash, ValueHash}
import org.apache.spark.sql.parquetry.protocol.ParquetryException
import org.apache.spark.sql.parquetry.table.{ParquetryTable, TableRelation}

/**
 * `TABLESAMPLE (BUCKET x OUT OF y [ON …])` of a relation, until `ResolveBucketSamples` knows what the
 * relation is.
 *
 * @param seed of a random sample, or None for any
 * @param on what is hashed; nothing stands for the bucket columns of the relation's table
 */
case class BucketSample(bucket: Long, count: Long, seed: Option[Long], on: Seq[Expression], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(newChild: LogicalPlan): BucketSample = copy(child = newChild)

  def written: String = s"TABLESAMPLE (BUCKET $bucket OUT OF $count${if (on.isEmpty) "" else on.map(_.sql).mkString(" ON ", ", ", "")})"
  def error(reason: String): ParquetryException = new ParquetryException("UNSUPPORTED", s"$written: $reason.")
}

/**
 * Finds samples in the form that `ddl/bucket_samples.py` gives them: a number of rows that is a call. Runs
 * before functions are resolved, as no function has this name.
 */
object ReadBucketSamples extends Rule[LogicalPlan] {
  private val function = "parquetry_bucket_sample"

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsDown {
    case GlobalLimit(Call(bucket, count, seed, on), LocalLimit(_, child)) => BucketSample(bucket, count, seed, on, child) match {
      case s if count < 1 || count > Int.MaxValue => throw s.error(s"there are $count buckets: name from 1 to ${Int.MaxValue}")
      case s if bucket < 1 || bucket > count => throw s.error(s"there is no bucket $bucket of $count: buckets have numbers from 1 to $count")
      case s => random(s).getOrElse(s)
    }
  }

  /** The sample of `ON rand()`: rows at random, each in one of the buckets. */
  private def random(s: BucketSample): Option[Sample] = s.on match {
    case Seq(f: UnresolvedFunction) if Seq("rand", "random").contains(f.nameParts.last.toLowerCase(Locale.ROOT)) => f.arguments match {
      case Seq() => Some(fraction(s, s.seed))
      case Seq(Literal(seed: Number, _)) => Some(fraction(s, Some(seed.longValue)))
      case _ => throw s.error("rand takes one whole number, or nothing")
    }
    case _ => None
  }
  private def fraction(s: BucketSample, seed: Option[Long]): Sample =
    Sample((s.bucket - 1).toDouble / s.count, s.bucket.toDouble / s.count, false, seed.getOrElse(Random.nextLong()), s.child)

  private object Call {
    def unapply(e: Expression): Option[(Long, Long, Option[Long], Seq[Expression])] = e match {
      case f: UnresolvedFunction if f.nameParts == Seq(function) => f.arguments match {
        case Number(bucket) +: Number(count) +: seed +: on => Some((bucket, count, Number.unapply(seed), on))
        case _ => None
      }
      case _ => None
    }
  }
  private object Number {
    def unapply(e: Expression): Option[Long] = e match {
      case Literal(number @ (_: Int | _: Long), _) => Some(number.asInstanceOf[java.lang.Number].longValue)
      case Literal(_: org.apache.spark.sql.types.Decimal, _) => Some(Long.MaxValue)
      case _ => None
    }
  }
}

/**
 * Makes a condition of a sample, by the hash of the table that the rows come from: Hive's rows. It prunes
 * like a condition that a user writes (`predicates.BucketPredicate`).
 */
object ResolveBucketSamples extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = if (!plan.exists(_.isInstanceOf[BucketSample])) plan else {
    val named = plan.collect { case definition: CTERelationDef => definition.id -> definition.child }.toMap
    plan.resolveOperatorsUp {
      case s: BucketSample if s.childrenResolved && s.on.forall(_.resolved) => resolved(s, named)
    }
  }

  private def resolved(s: BucketSample, named: Map[Long, LogicalPlan]): LogicalPlan = {
    val own = tableBelow(s.child, named)
    val buckets = own.flatMap(_.bucketing)
    (s.on, own, buckets) match {
      case (Nil, Some(_), Some(found)) => hashed(s, own, found.columns.map(column(s, _)))
      case (Nil, _, _) => // no buckets of ours: Spark's own meaning
        Sample(0, s.bucket.toDouble / s.count, false, s.seed.getOrElse(Random.nextInt(1000).toLong), s.child)
      case (on, _, _) if on.exists(e => !e.deterministic) => throw s.error("what is hashed must be the same each time: name columns, or ON rand()")
      case (on, _, _) if isOurs(s.child, named) => hashed(s, own, on)
      case _ => throw s.error("the rows are of no table of Parquetry, and Spark's own tables have no samples of a bucket by columns: " +
        "say BUCKET x OUT OF y without ON for a fraction of the rows, or filter by pmod(hash(…), y)")
    }
  }

  private def hashed(s: BucketSample, table: Option[ParquetryTable], on: Seq[Expression]): LogicalPlan = {
    val types = on.map(ResolveHashFunctions.rawType(_, s))
    types.find(!ValueHash.has(_)).foreach(t => throw s.error(s"values of type ${t.sql} have no hash for buckets: name other columns"))
    val version = table.flatMap(t => Option(t.properties().get("bucketing-version"))).getOrElse("2")
    Filter(EqualTo(BucketHash.settled(version, s.count.toInt, on, types), Literal(s.bucket.toInt - 1)), s.child)
  }

  private def column(s: BucketSample, name: String): Expression =
    s.child.output.find(_.name == name).getOrElse(throw s.error(s"the table is in buckets by $name, which is no column here: name columns behind ON"))

  /** The one table of ours that all rows come from; rows of a join or a union come from several. */
  private def tableBelow(plan: LogicalPlan, named: Map[Long, LogicalPlan]): Option[ParquetryTable] = plan match {
    case TableRelation(table: ParquetryTable) => Some(table)
    case r: CTERelationRef => named.get(r.cteId).flatMap(tableBelow(_, named))
    case _: SubqueryAlias | _: View | _: Project | _: Filter | _: BucketSample | _: Sample | _: Sort => tableBelow(plan.children.head, named)
    case _ => None
  }
  private def isOurs(plan: LogicalPlan, named: Map[Long, LogicalPlan]): Boolean = plan.exists {
    case TableRelation(_: ParquetryTable) => true
    case r: CTERelationRef => named.get(r.cteId).exists(isOurs(_, named))
    case _ => false
  }
}
