package org.apache.spark.sql.parquetry.buckets

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.BuildLeft
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.joingraph.{BroadcastSide, EquiJoin, JoinSide, Lineage}
import org.apache.spark.sql.parquetry.protocol.BucketsAnswer
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.{Bucketing, ScanRelation}
import org.apache.spark.sql.types.{DataType, NullType, StringType, VarcharType}

/**
 * A scan with buckets below one side of a join. All of its bucket columns can be computed from the join's
 * keys.
 *
 * @param columns the bucket columns, in their hash order
 * @param forms for each of them, how it is computed from the keys (see `KeyForms`)
 * @param beside scans below the same UNION ALL: after it, all of them are in their buckets, or none
 * @param unions UNIONs between the scan and the join, each with the join's keys as columns of its children
 * @param plain whether Spark itself joins by the buckets: each bucket column is a key
 */
case class BucketSource(
    relation: DataSourceV2ScanRelation, buckets: BucketsAnswer, columns: Seq[Attribute], forms: Seq[Seq[Expression]],
    beside: Seq[DataSourceV2ScanRelation] = Nil, unions: Seq[(Union, Seq[Seq[Expression]])] = Nil, plain: Boolean = true) {
  /**
   * The types of the columns, with one for all types that have one hash. The hash of a CHAR depends on its
   * length.
   */
  def types: Seq[DataType] = buckets.types.map {
    case _: VarcharType if buckets.version == "1" => VarcharType(1)
    case _: VarcharType => StringType
    case other => other
  }
  /** Whether rows with equal keys have one hash, here and in another scan. */
  def hashesAs(other: BucketSource): Boolean = buckets.version == other.buckets.version && types == other.types &&
    forms.zip(other.forms).forall { case (one, another) => one.exists(another.contains) }
}

/** Finds the scans whose buckets a side of a join still has, down through nodes that move no row. */
object BucketSources {
  private val unknown = AttributeReference("unknown", NullType)()

  def of(side: JoinSide): Seq[BucketSource] = of(side.plan, side.keys)

  /** Whether a node asks for the name of the file that is being read. */
  def namesFiles(node: LogicalPlan): Boolean = node.expressions.exists(_.exists {
    case _: InputFileName | _: InputFileBlockStart | _: InputFileBlockLength => true
    case _ => false
  })

  private def of(plan: LogicalPlan, keys: Seq[Expression]): Seq[BucketSource] = plan match {
    case relation @ ScanRelation(_, scan: ParquetryScan, output, _, _) => for {
      buckets <- scan.bucketsInPlace.toSeq
      columns = buckets.columns.flatMap(name => output.find(_.name == name)) if columns.length == buckets.columns.length
      forms = columns.zip(buckets.types).map { case (column, raw) => KeyForms.of(column, raw, buckets.version, keys) }
      if forms.forall(_.nonEmpty)
    } yield BucketSource(relation, buckets, columns, forms, plain = columns.forall(column => keys.exists(_.semanticEquals(column))))
    case named if namesFiles(named) => Nil // a row has no file any more when it was shuffled
    case _: Project | _: Filter | _: Window | _: Sort => below(plan, plan.children, keys)
    case _: Aggregate => below(plan, plan.children, keys).map(source => source.copy(plain = source.plain && Bucketing.reduces))
    case join: Join if join.joinType == FullOuter && BroadcastSide.find(join).isEmpty =>
      below(join, Seq(join.left), keys.map(equalInFull(join, _))).map(_.copy(plain = false))
    case join: Join => kept(join).flatMap(child => below(join, Seq(child), keys.map(equal(join, child, _))))
    case union: Union =>
      val ofChildren = union.children.map(child => keys.map(below(union, child, _)))
      val all = union.children.zip(ofChildren).flatMap { case (child, own) => of(child, own).headOption }
      if (all.length < union.children.length || !all.forall(all.head.hashesAs)) Nil
      else all.map(one => one.copy(
        beside = all.flatMap(other => other.relation +: other.beside), unions = all.flatMap(_.unions) :+ (union -> ofChildren), plain = false))
    case _ => Nil
  }

  /** The left side's key, for what USING makes of the keys of both sides of a FULL join. */
  private def equalInFull(join: Join, key: Expression): Expression = (join, key) match {
    case (EquiJoin(left, right, _), Coalesce(Seq(one, other))) =>
      left.keys.zip(right.keys).collectFirst { case (l, r) if l.semanticEquals(one) && r.semanticEquals(other) => l }.getOrElse(unknown)
    case _ => unknown
  }

  private def below(node: LogicalPlan, children: Seq[LogicalPlan], keys: Seq[Expression]): Seq[BucketSource] =
    children.flatMap(child => of(child, keys.map(below(node, child, _))))
  private def below(node: LogicalPlan, child: LogicalPlan, key: Expression): Expression =
    Lineage.below(key, node).collectFirst { case (value, input) if input eq child => value }.getOrElse(unknown)

  /** The sides of a join whose rows stay where they are. */
  private def kept(join: Join): Seq[LogicalPlan] = (BroadcastSide.find(join), join.joinType) match {
    case (Some(build), _) => Seq(if (build == BuildLeft) join.right else join.left)
    case (_, _: InnerLike) => join.children
    case (_, RightOuter) => Seq(join.right)
    case (_, FullOuter) => Nil
    case _ => Seq(join.left)
  }

  /** The key of the other side of an inner join that equals a key. Rows with equal keys are in one bucket. */
  private def equal(join: Join, child: LogicalPlan, key: Expression): Expression = join match {
    case EquiJoin(left, right, _) if join.joinType.isInstanceOf[InnerLike] && !key.references.subsetOf(child.outputSet) =>
      val (own, others) = if (child eq join.left) (left.keys, right.keys) else (right.keys, left.keys)
      others.zip(own).collectFirst { case (other, same) if other.semanticEquals(key) => same }.getOrElse(key)
    case _ => key
  }
}
