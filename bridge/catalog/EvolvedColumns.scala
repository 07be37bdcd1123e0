package org.apache.spark.sql.parquetry.catalog

import org.apache.spark.sql.connector.catalog.TableChange
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.versions.Evolution

/**
 * Gives `WITH SCHEMA EVOLUTION` a table's columns in the order that it expects after it has changed them.
 *
 * Spark's rule alters the table, loads it, and identifies the old columns by their positions. But a new
 * column comes before the partition columns at the end. So the rule would take these for other columns, and
 * rows would get values of their neighbours. Therefore the table that the rule loads has its new columns
 * last. Later loads have them where they are.
 */
object EvolvedColumns {
  /**
   * The table that the rule has altered on this thread and not loaded yet: its id, and its old columns in
   * order.
   */
  private val altered = new ThreadLocal[Option[(String, Seq[String])]] {
    override def initialValue(): Option[(String, Seq[String])] = None
  }

  /** Remembers the old columns of a table that was altered, if Spark's rule has altered it. */
  def remember(table: ParquetryTable, changes: Seq[TableChange]): Unit = {
    val added = changes.collect { case c: TableChange.AddColumn if c.fieldNames().length == 1 => c.fieldNames().head }
    val before = table.logical.fieldNames.toSeq.filterNot(name => added.exists(_.equalsIgnoreCase(name)))
    altered.set(Option.when(isUnderWay)(table.id() -> before))
  }

  /** The table with its columns as the rule expects them, if the rule loads it; else the table unchanged. */
  def placed(table: ParquetryTable): ParquetryTable = {
    val found = altered.get()
    altered.remove()
    found.collect { case (id, before) if id == table.id() && isUnderWay => table.beginningWith(before) }.getOrElse(table)
  }

  private def isUnderWay: Boolean = StackWalker.getInstance().walk(_.anyMatch(_.getClassName == Evolution.rule))
}
