package org.apache.spark.sql.parquetry.ordering

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.UnsafeExternalRowSorter
import org.apache.spark.sql.execution.metric.SQLMetric

/**
 * The rows of a partition, each group in its order. The memory of rows is used again for the next group.
 *
 * @param same compares the columns that make a group
 * @param rest compares the other columns
 * @param sorter a sorter for a group that is too large for memory
 */
private[ordering] class GroupedRows(
    rows: Iterator[UnsafeRow], columns: Int, same: Ordering[InternalRow], rest: Ordering[InternalRow], sorter: () => UnsafeExternalRowSorter,
    groups: SQLMetric, large: SQLMetric) extends Iterator[InternalRow] {
  import GroupedRows._

  private var group = Array.fill(FIRST_ROWS)(empty)
  private var kept = 0
  private var position = 0
  /** The first row of the next group. */
  private var following = empty
  private var follows = false
  /** The rest of a group in the external sorter, and this. */
  private var external: Iterator[InternalRow] = Iterator.empty
  private var externalSorter = Option.empty[UnsafeExternalRowSorter]

  override def hasNext: Boolean = external.hasNext || position < kept || fill()
  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    if (external.hasNext) external.next()
    else {
      position += 1
      group(position - 1)
    }
  }

  /** Reads the next group; returns false if there is none. */
  private def fill(): Boolean = {
    externalSorter.foreach(_.cleanupResources())
    externalSorter = None
    position = 0
    kept = 0
    if (follows) keep(following)
    else if (rows.hasNext) keep(rows.next())
    else return false
    follows = false
    var bytes = group(0).getSizeInBytes.toLong
    while (!follows && rows.hasNext) {
      val row = rows.next()
      if (same.compare(group(0), row) != 0) {
        following.copyFrom(row)
        follows = true
      } else {
        keep(row)
        bytes += row.getSizeInBytes
        if (kept == MAX_ROWS || bytes > MAX_BYTES) return sortExternally()
      }
    }
    if (kept > 1) {
      groups += 1
      java.util.Arrays.sort(group, 0, kept, rest.asInstanceOf[java.util.Comparator[_ >: UnsafeRow]])
    }
    true
  }

  private def keep(row: UnsafeRow): Unit = {
    if (kept == group.length) group ++= Array.fill(kept)(empty)
    group(kept).copyFrom(row)
    kept += 1
  }

  /** Sorts the rows of the group so far, and all that come, by Spark's sorter. */
  private def sortExternally(): Boolean = {
    large += 1
    val begun = sorter()
    externalSorter = Some(begun)
    (0 until kept).foreach(i => begun.insertRow(group(i)))
    val first = group(0).copy()
    group = Array.fill(FIRST_ROWS)(empty) // the memory of large rows
    kept = 0
    while (!follows && rows.hasNext) {
      val row = rows.next()
      if (same.compare(first, row) != 0) {
        following.copyFrom(row)
        follows = true
      } else begun.insertRow(row)
    }
    external = begun.sort().asInstanceOf[Iterator[InternalRow]]
    Option(TaskContext.get()).foreach(_.taskMetrics().incPeakExecutionMemory(begun.getPeakMemoryUsage))
    external.hasNext
  }

  private def empty: UnsafeRow = UnsafeRow.createFromByteArray(UnsafeRow.calculateBitSetWidthInBytes(columns) + 8 * columns, columns)
}

private object GroupedRows {
  val FIRST_ROWS = 16
  /** The most rows of a group that are sorted in memory. */
  val MAX_ROWS = 65536
  /** The most bytes of a group that are sorted in memory. */
  val MAX_BYTES: Long = 16L << 20
}
