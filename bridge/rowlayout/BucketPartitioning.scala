package org.apache.spark.sql.parquetry.rowlayout

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.parquetry.hash.BucketHash
import org.apache.spark.sql.types.DataType

/**
 * How a table's rows are put into buckets.
 *
 * @param version of the hash: "1", "2" or `BucketHash.Spark`
 * @param types of the bucket columns, as the table declares them: a char or varchar hashes unlike a string
 */
case class BucketLayout(version: String, count: Int, types: Seq[DataType]) {
  /** The bucket of a row, from 0, by its values of the bucket columns. */
  def bucket(columns: Seq[Expression]): Expression = BucketHash.settled(version, count, columns, types)
}

/**
 * Rows in buckets: partition i has the rows of bucket i, and there are as many partitions as buckets.
 *
 * It is a `HashPartitioning` with the hash of a table's files, so that Spark's own exchange can make it. In a
 * join of such a table with any other rows, Spark shuffles only these. Spark knows a `HashPartitioning` by
 * its expressions and its number. This one differs from a plain one with the same of both, since rows are
 * elsewhere.
 *
 * @param columns the values of the bucket columns, in their hash order, as expressions of the rows
 */
class BucketPartitioning(val layout: BucketLayout, columns: Seq[Expression]) extends HashPartitioning(columns, layout.count) {
  override def partitionIdExpression: Expression = layout.bucket(expressions)

  override def satisfies0(required: Distribution): Boolean = required match {
    case UnspecifiedDistribution => true
    case AllTuples => numPartitions == 1
    case keys: ClusteredDistribution =>
      (!keys.requireAllClusterKeys || keys.areAllClusterKeysMatched(expressions)) && forms(keys.clustering).forall(_.nonEmpty)
    case _ => false // the state of a stream is where Spark's own hash puts it
  }

  /** For each bucket column, how it is computed from some keys (see `KeyForms`). */
  def forms(keys: Seq[Expression]): Seq[Seq[Expression]] =
    expressions.zip(layout.types).map { case (column, raw) => KeyForms.of(column, raw, layout.version, keys) }

  override def createShuffleSpec(required: ClusteredDistribution): ShuffleSpec = BucketShuffleSpec(this, required)

  override def withNewChildrenInternal(columns: IndexedSeq[Expression]): BucketPartitioning = new BucketPartitioning(layout, columns)
  override def canEqual(other: Any): Boolean = other.isInstanceOf[BucketPartitioning]
  override def equals(other: Any): Boolean = other match {
    case same: BucketPartitioning => layout == same.layout && expressions == same.expressions
    case _ => false
  }
  override def hashCode(): Int = 31 * layout.hashCode() + expressions.hashCode()
  override def toString: String = s"buckets(${layout.version}, ${expressions.mkString(", ")}, $numPartitions)"
  override def sql: String = s"buckets(${layout.version}, ${expressions.map(_.sql).mkString(", ")}, $numPartitions)"
}

object BucketPartitioning {
  /** Whether a partitioning is by buckets, or one of several that are equal. */
  def isIn(partitioning: Partitioning): Boolean = among(partitioning).nonEmpty
  def among(partitioning: Partitioning): Seq[BucketPartitioning] = partitioning match {
    case several: PartitioningCollection => several.partitionings.flatMap { case one: Partitioning => among(one) }
    case buckets: BucketPartitioning => Seq(buckets)
    case _ => Nil
  }
}

/**
 * The hash and the keys that two sides of an operation must share to meet in the same buckets. It is no
 * `HashShuffleSpec`, since Spark would take a plain hash partitioning for the same.
 */
case class BucketShuffleSpec(partitioning: BucketPartitioning, required: ClusteredDistribution) extends ShuffleSpec {
  private lazy val forms = partitioning.forms(required.clustering)

  override def numPartitions: Int = partitioning.numPartitions
  override def isCompatibleWith(other: ShuffleSpec): Boolean = other match {
    case that: BucketShuffleSpec =>
      partitioning.layout == that.partitioning.layout && required.clustering.length == that.required.clustering.length &&
        forms.zip(that.forms).forall { case (one, another) => one.exists(another.contains) }
    case SinglePartitionShuffleSpec => numPartitions == 1
    case ShuffleSpecCollection(specs) => specs.exists(isCompatibleWith)
    case _ => false
  }

  /** Also by some of the keys: the planner has found that this costs less than to shuffle both sides. */
  override def canCreatePartitioning: Boolean = forms.forall(_.nonEmpty)
  override def createPartitioning(keys: Seq[Expression]): Partitioning =
    new BucketPartitioning(partitioning.layout, forms.map(_.head.transform { case key: BoundReference => keys(key.ordinal) }))
}
