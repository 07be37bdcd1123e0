package org.apache.spark.sql.parquetry.merging

import org.apache.spark.rdd.InputFileBlockHolder
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader

/**
 * Merges sorted readers: a heap has the readers that have rows, the one with the least row on top.
 *
 * `get` returns the row of the reader on top itself. It moves on only at the next call of `next`, so that no
 * row is copied.
 */
private[merging] class MergingReader(readers: Array[PartitionReader[InternalRow]], order: Ordering[InternalRow]) extends PartitionReader[InternalRow] {
  private val heap = Array.ofDim[Int](readers.length)
  private val rows = Array.ofDim[InternalRow](readers.length)
  private var size = 0
  private var begun = false

  override def next(): Boolean = {
    if (!begun) begin()
    else if (size > 0) {
      val top = heap(0)
      if (readers(top).next()) rows(top) = readers(top).get()
      else {
        rows(top) = null
        size -= 1
        heap(0) = heap(size)
      }
      sink(0)
    }
    size > 0
  }
  override def get(): InternalRow = rows(heap(0))
  override def close(): Unit = closeFrom(0)

  /** Closes all readers, also if one of them fails to. */
  private def closeFrom(i: Int): Unit = if (i < readers.length) try readers(i).close() finally closeFrom(i + 1)

  private def begin(): Unit = {
    begun = true
    readers.indices.foreach { i =>
      if (readers(i).next()) {
        rows(i) = readers(i).get()
        heap(size) = i
        size += 1
      }
    }
    // The function input_file_name() has no answer for rows of several files (see `BucketStrategy`).
    InputFileBlockHolder.unset()
    (size / 2 to 0 by -1).foreach(sink)
  }

  /** Moves a reader down until no reader below it has a lesser row. */
  private def sink(from: Int): Unit = {
    var at = from
    var least = from
    do {
      at = least
      val child = 2 * at + 1
      if (child < size && precedes(heap(child), heap(least))) least = child
      if (child + 1 < size && precedes(heap(child + 1), heap(least))) least = child + 1
      if (least != at) {
        val moved = heap(at)
        heap(at) = heap(least)
        heap(least) = moved
      }
    } while (least != at)
  }

  /** Equal rows come in the order of their files, so that a query has the same rows each time. */
  private def precedes(one: Int, other: Int): Boolean = {
    val compared = order.compare(rows(one), rows(other))
    if (compared == 0) one < other else compared < 0
  }
}
