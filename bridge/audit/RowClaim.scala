package org.apache.spark.sql.parquetry.audit

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Attribute, BindReferences, BoundReference, Cast, EvalMode, Expression, GenericInternalRow, InterpretedOrdering, Literal,
  SortOrder}
import org.apache.spark.sql.parquetry.joingraph.LogicalNames
import org.apache.spark.sql.types.StringType

/**
 * A claim to Spark about the rows of a node: their partition, or their order.
 *
 * A claim is checked over the rows that flow out of the node, and not over the rows that it was made of.
 */
sealed trait RowClaim extends Serializable {
  /** The word for it in a report: `buckets` or `orders`. */
  def kind: String
  /** The claim in words. */
  def text: String
  /** Whether the claim is true if another one is, of the same rows. */
  def followsFrom(other: RowClaim): Boolean
  /**
   * The check of a partition's rows.
   *
   * @return a function that gets the rows one by one, and says of a row why it is elsewhere
   */
  def check(partition: Int, output: Seq[Attribute]): InternalRow => Option[String]
}

/**
 * Rows are in buckets, a bucket to a partition.
 *
 * @param bucket the bucket of a row, by the hash of the claim's columns
 * @param count the number of buckets
 * @param keys the hashed columns, for the message
 * @param numbers the bucket of each partition, or None if partition i has bucket i
 * @param folded to how many buckets Spark has folded them
 */
case class InBucket(bucket: Expression, count: Int, keys: Seq[Expression], numbers: Option[Seq[Int]], folded: Option[Int]) extends RowClaim {
  override def kind: String = "buckets"
  override def text: String = s"in ${folded.getOrElse(count)} buckets by hash of ${keys.map(LogicalNames.of(_)).mkString(", ")}"

  override def followsFrom(other: RowClaim): Boolean = other match {
    case same: InBucket => same.bucket.semanticEquals(bucket) && same.numbers == numbers && same.folded == folded
    case _ => false
  }

  override def check(partition: Int, output: Seq[Attribute]): InternalRow => Option[String] = {
    val expected = numbers.fold(partition)(_(partition))
    val (hash, values) = (BindReferences.bindReference(bucket, output), keys.map(BindReferences.bindReference(_, output)))
    val of = folded.getOrElse(count)
    row => {
      val own = hash.eval(row).asInstanceOf[Int] % of
      Option.when(own != expected)(
        s"in bucket $expected of $of by hash of ${keys.map(LogicalNames.of(_)).mkString(", ")}, and the row with ${
          RowClaim.named(keys, values, row)} belongs in bucket $own")
    }
  }
}

/** Rows of a partition are in an order. */
case class InOrder(order: Seq[SortOrder]) extends RowClaim {
  override def kind: String = "orders"
  override def text: String = s"in the order of ${order.map(LogicalNames.of(_)).mkString(", ")}"

  override def followsFrom(other: RowClaim): Boolean = other match {
    case InOrder(longer) => SortOrder.orderingSatisfies(longer.map(_.copy(sameOrderExpressions = Nil)), order)
    case _ => false
  }

  override def check(partition: Int, output: Seq[Attribute]): InternalRow => Option[String] = {
    val keys = order.map(_.child)
    val values = keys.map(BindReferences.bindReference(_, output))
    val ordering = new InterpretedOrdering(order.zipWithIndex.map { case (one, i) =>
      one.copy(child = BoundReference(i, one.dataType, nullable = true), sameOrderExpressions = Nil)
    })
    var before: InternalRow = null
    row => {
      val own = new GenericInternalRow(values.map(value => InternalRow.copyValue(value.eval(row))).toArray)
      val late = before != null && ordering.compare(before, own) > 0
      val last = before
      before = own
      Option.when(late)(s"in the order of ${order.map(LogicalNames.of(_)).mkString(", ")}, and after (${
        last.toSeq(keys.map(_.dataType)).map(String.valueOf).mkString(", ")}) comes ${RowClaim.named(keys, values, row)}")
    }
  }
}

object RowClaim {
  /** The keys of a row with their values, for a message. */
  private[audit] def named(keys: Seq[Expression], values: Seq[Expression], row: InternalRow): String =
    keys.zip(values).map { case (key, value) => s"${LogicalNames.of(key)} = ${shown(value, row)}" }.mkString(", ")

  private def shown(value: Expression, row: InternalRow): String =
    String.valueOf(Cast(Literal(InternalRow.copyValue(value.eval(row)), value.dataType), StringType, Some("UTC"), EvalMode.TRY).eval())
}
