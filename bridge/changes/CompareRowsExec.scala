package org.apache.spark.sql.parquetry.changes

import java.util

import scala.collection.mutable

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.{ClusteredDistribution, Distribution}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Compares rows, see `CompareRows`. Memory holds the rows of one key at most, and of these only two: Spark's
 * sort, which can spill, has put equal rows together.
 *
 * @param data the table's columns as packed rows have them
 * @param keys the number of the key's columns
 * @param child gives the type, version and time of a change, the packed key, the packed row, and a hash
 */
case class CompareRowsExec(override val output: Seq[Attribute], data: Seq[Attribute], keys: Int, child: SparkPlan) extends UnaryExecNode {
  override def producedAttributes: AttributeSet = outputSet -- child.outputSet
  override def requiredChildDistribution: Seq[Distribution] = Seq(ClusteredDistribution(Seq(child.output(5))))
  override def requiredChildOrdering: Seq[Seq[SortOrder]] =
    Seq(Seq(5, 1, 3, 4).filter(i => i != 3 || keys > 0).map(i => SortOrder(child.output(i), Ascending)))
  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override protected def doExecute(): RDD[InternalRow] = {
    val (rows, width, byKey) = (longMetric("numOutputRows"), data.length, keys)
    val told = output.filter(a => ChangeColumns.names(a.name))
    val (packed, places) = (data ++ told, output)
    child.execute().mapPartitionsInternal { iterator =>
      val project = UnsafeProjection.create(places, packed)
      val (row, joined) = (new UnsafeRow(width), new JoinedRow)
      val values = new GenericInternalRow(told.length)
      new Comparison(iterator, byKey).map { change =>
        rows += 1
        row.pointTo(change.row, change.row.length)
        told.indices.foreach(i => values.update(i, told(i).name match {
          case ChangeColumns.Type => change.kind
          case ChangeColumns.Version => change.version
          case ChangeColumns.Timestamp => change.time
        }))
        project(joined(row, values)): InternalRow
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): CompareRowsExec = copy(child = newChild)
}

/** A packed row, and its change. */
private class Change(val row: Array[Byte], val kind: UTF8String, val version: Long, val time: Long)

/**
 * The changes of sorted rows.
 *
 * @param keys the number of the key's columns, or 0 to make no pairs
 */
private class Comparison(rows: Iterator[InternalRow], keys: Int) extends Iterator[Change] {
  private val none: InternalRow = null
  private var head = if (rows.hasNext) rows.next() else none
  private val ready = mutable.ArrayDeque.empty[(Change, Long)]
  /** The only removed row and the only new row of the current key so far. */
  private val held = mutable.ArrayDeque.empty[Change]
  private var (heldVersion, heldKey, isSpread) = (-1L, Array.emptyByteArray, false)

  override def hasNext: Boolean = {
    while (ready.isEmpty && head != null) takeRun()
    if (ready.isEmpty) release(pairs = true)
    ready.nonEmpty
  }

  override def next(): Change = {
    if (!hasNext) throw new NoSuchElementException
    val (change, count) = ready.removeHead()
    if (count > 1) ready.prepend((change, count - 1))
    change
  }

  /** Takes all equal rows of a version. */
  private def takeRun(): Unit = {
    val (version, time, key, row) = (head.getLong(1), head.getLong(2), head.getBinary(3), head.getBinary(4))
    var more = 0L
    while (head != null && head.getLong(1) == version && util.Arrays.equals(head.getBinary(4), row)) {
      more += (if (head.getUTF8String(0) == Comparison.Insert) 1 else -1)
      head = if (rows.hasNext) rows.next() else none
    }
    if (keys > 0 && !(version == heldVersion && util.Arrays.equals(key, heldKey))) {
      release(pairs = true)
      heldVersion = version
      heldKey = key
      isSpread = Comparison.hasNull(key, keys)
    }
    if (more != 0) {
      val change = new Change(row, if (more > 0) Comparison.Insert else Comparison.Delete, version, time)
      val count = math.abs(more)
      if (keys > 0 && !isSpread && count == 1 && !held.exists(_.kind == change.kind)) held += change
      else {
        isSpread = true
        release(pairs = false)
        ready += ((change, count))
      }
    }
  }

  /** Gives the rows of a key on, as an update if there is one of each kind and no other row has the key. */
  private def release(pairs: Boolean): Unit = {
    if (pairs && held.length == 2 && !isSpread) held.sortBy(_.kind).foreach { change => // delete, insert
      val kind = if (change.kind == Comparison.Delete) Comparison.Preimage else Comparison.Postimage
      ready += ((new Change(change.row, kind, change.version, change.time), 1L))
    } else held.foreach(change => ready += ((change, 1L)))
    held.clear()
  }
}

private object Comparison {
  val Insert: UTF8String = UTF8String.fromString("insert")
  val Delete: UTF8String = UTF8String.fromString("delete")
  val Preimage: UTF8String = UTF8String.fromString("update_preimage")
  val Postimage: UTF8String = UTF8String.fromString("update_postimage")

  def hasNull(key: Array[Byte], width: Int): Boolean = {
    val row = new UnsafeRow(width)
    row.pointTo(key, key.length)
    row.anyNull()
  }
}
