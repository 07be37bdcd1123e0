package org.apache.spark.sql.parquetry.versions

import java.util.EnumSet

import org.apache.spark.sql.connector.catalog.TableCapability

/** The capabilities of our tables that not every version of Spark knows. */
object Capabilities {
  def added(all: EnumSet[TableCapability]): EnumSet[TableCapability] = {
    all.add(TableCapability.SCAN_MERGING) // one scan reads for all subqueries that differ only in their columns
    all
  }
}
