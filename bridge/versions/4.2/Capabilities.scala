package org.apache.spark.sql.parquetry.versions

import java.util.EnumSet

import org.apache.spark.sql.connector.catalog.TableCapability

/** Facts about Spark before 4.3. */
object Capabilities {
  /** The capabilities of our tables that not every version of Spark knows. */
  def added(all: EnumSet[TableCapability]): EnumSet[TableCapability] = all

  /** Whether readers of ORC find every time in a file that was written in another time zone. */
  val findsTimesInOrc: Boolean = false
}
