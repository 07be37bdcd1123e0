package org.apache.spark.sql.parquetry.versions

import java.util.EnumSet

import org.apache.spark.sql.connector.catalog.TableCapability

/** Facts that differ between versions of Spark. */
object Capabilities {
  /** The capabilities of our tables that not every version of Spark knows. */
  def added(all: EnumSet[TableCapability]): EnumSet[TableCapability] = {
    all.add(TableCapability.SCAN_MERGING) // one scan reads for all subqueries that differ only in their columns
    all
  }

  /** Whether readers of ORC find every time in a file that was written in another time zone. */
  val findsTimesInOrc: Boolean = true
}
