package org.apache.spark.sql.parquetry.values

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{ImperativeAggregate, TypedImperativeAggregate}
import org.apache.spark.sql.catalyst.util.{GenericArrayData, TypeUtils}
import org.apache.spark.sql.types._

/**
 * Collects the distinct rows of some values, sorted. If there are more than `most`, two rows are left: the
 * least and the greatest of each value.
 *
 * The result is `struct<exact: boolean, rows: array<struct<…>>>`; `exact` says whether it has all rows.
 */
case class CollectBoxes(values: Seq[Expression], most: Int, mutableAggBufferOffset: Int = 0, inputAggBufferOffset: Int = 0)
  extends TypedImperativeAggregate[CollectedBoxes] {
  override def children: Seq[Expression] = values
  override def nullable: Boolean = false
  override def prettyName: String = "boxes"
  override def dataType: DataType = CollectBoxes.Type(StructType(values.zipWithIndex.map { case (value, at) => StructField(s"v$at", value.dataType) }))
  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate = copy(inputAggBufferOffset = offset)
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): CollectBoxes = copy(values = newChildren)

  private lazy val orders = values.map(value => TypeUtils.getInterpretedOrdering(value.dataType))
  private lazy val toBytes = UnsafeProjection.create(Array[DataType](dataType))

  override def createAggregationBuffer(): CollectedBoxes = new CollectedBoxes(orders, most)
  override def update(buffer: CollectedBoxes, input: InternalRow): CollectedBoxes = {
    buffer.add(values.map(value => InternalRow.copyValue(value.eval(input))))
    buffer
  }
  override def merge(buffer: CollectedBoxes, other: CollectedBoxes): CollectedBoxes = {
    buffer.add(other)
    buffer
  }
  override def eval(buffer: CollectedBoxes): Any =
    InternalRow(buffer.exact, new GenericArrayData(buffer.sorted.map(row => InternalRow.fromSeq(row)).toArray[Any]))
  override def serialize(buffer: CollectedBoxes): Array[Byte] = toBytes(InternalRow(eval(buffer))).getBytes
  override def deserialize(bytes: Array[Byte]): CollectedBoxes = {
    val row = new UnsafeRow(1)
    row.pointTo(bytes, bytes.length)
    val CollectBoxes.Type(fields) = dataType
    val found = row.getStruct(0, 2)
    val buffer = createAggregationBuffer()
    CollectBoxes.rows(found, fields).foreach(buffer.add)
    if (!found.getBoolean(0)) buffer.overflow()
    buffer
  }
}

object CollectBoxes {
  /** The type of the result, by the type of its rows. */
  object Type {
    def apply(rows: StructType): StructType =
      new StructType().add("exact", BooleanType, nullable = false).add("rows", ArrayType(rows, containsNull = false), nullable = false)
    def unapply(dataType: DataType): Option[StructType] = dataType match {
      case StructType(Array(StructField("exact", BooleanType, _, _), StructField("rows", ArrayType(rows: StructType, _), _, _))) => Some(rows)
      case _ => None
    }
  }

  /** The rows of a result. */
  def rows(found: InternalRow, fields: StructType): Seq[Seq[Any]] = {
    val all = found.getArray(1)
    (0 until all.numElements()).map(at => all.getStruct(at, fields.length).copy().toSeq(fields))
  }
}

/** The rows that `CollectBoxes` has seen. */
class CollectedBoxes(orders: Seq[Ordering[Any]], most: Int) {
  private val rows = mutable.LinkedHashSet.empty[Seq[Any]]
  private var all = true

  def exact: Boolean = all
  /** The rows in order: by the first value, then by the next one; NULL is the least. */
  def sorted: Seq[Seq[Any]] = rows.toSeq.sortWith(before)

  def add(row: Seq[Any]): Unit = {
    rows += row
    if (rows.size > (if (all) most else 1024)) overflow()
  }
  def add(other: CollectedBoxes): Unit = {
    other.rows.foreach(add)
    if (!other.all) overflow()
  }

  /** Keeps only the least and the greatest of each value. */
  def overflow(): Unit = {
    all = false
    val ends = Seq[(Seq[Any], Ordering[Any]) => Any](_.min(_), _.max(_)).map(end => orders.zipWithIndex.map { case (order, at) =>
      val there = rows.iterator.map(_(at)).filter(_ != null).toSeq
      if (there.isEmpty) null else end(there, order)
    })
    rows.clear()
    rows ++= ends
  }

  private def before(one: Seq[Any], other: Seq[Any]): Boolean =
    orders.indices.iterator.map(at => (one(at), other(at)) match {
      case (null, null) => 0
      case (null, _) => -1
      case (_, null) => 1
      case (a, b) => orders(at).compare(a, b)
    }).find(_ != 0).exists(_ < 0)
}
