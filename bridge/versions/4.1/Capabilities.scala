package org.apache.spark.sql.parquetry.versions

import java.util.EnumSet

import org.apache.spark.sql.connector.catalog.TableCapability

/** The capabilities of our tables that not every version of Spark knows: Spark 4.1 knows none of them. */
object Capabilities {
  def added(all: EnumSet[TableCapability]): EnumSet[TableCapability] = all
}
