package org.apache.spark.sql.parquetry.catalog

import org.apache.spark.sql.catalyst.analysis.ResolveSchemaEvolution
import org.apache.spark.sql.connector.catalog.TableChange
import org.apache.spark.sql.parquetry.table.ParquetryTable

/**
 * The order in which `WITH SCHEMA EVOLUTION` finds a table's columns after it has changed them.
 *
 * Spark's rule alters the table, loads it, and takes the columns from before for those that stand in their places now. A new column comes
 * before partition columns at the end, so that these would be taken for others, and rows get values of columns beside theirs. The
 * table that the rule loads has its new columns last; whoever loads it later finds them where they are.
 */
object EvolvedColumns {
  private val rule = ResolveSchemaEvolution.getClass.getName
  /** Of the table that the rule, on this thread, has altered and not loaded yet: its id, and its columns from before, in order. */
  private val altered = new ThreadLocal[Option[(String, Seq[String])]] {
    override def initialValue(): Option[(String, Seq[String])] = None
  }

  /** Remember the columns of a table that was altered, if the rule has asked for it. */
  def remember(table: ParquetryTable, changes: Seq[TableChange]): Unit = {
    val added = changes.collect { case c: TableChange.AddColumn if c.fieldNames().length == 1 => c.fieldNames().head }
    val before = table.logical.fieldNames.toSeq.filterNot(name => added.exists(_.equalsIgnoreCase(name)))
    altered.set(Option.when(isUnderWay)(table.id() -> before))
  }

  /** The table as the rule has to find it, if it is what loads it. */
  def placed(table: ParquetryTable): ParquetryTable = {
    val found = altered.get()
    altered.remove()
    found.collect { case (id, before) if id == table.id() && isUnderWay => table.beginningWith(before) }.getOrElse(table)
  }

  private def isUnderWay: Boolean = StackWalker.getInstance().walk(_.anyMatch(_.getClassName == rule))
}
