package org.apache.spark.sql.parquetry.versions

import java.util.EnumSet

import org.apache.spark.sql.connector.catalog.TableCapability

/** The capabilities of our tables that Spark knows since 4.3: none. */
object Capabilities {
  def added(all: EnumSet[TableCapability]): EnumSet[TableCapability] = all
}
