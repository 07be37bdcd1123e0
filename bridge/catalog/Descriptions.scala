package org.apache.spark.sql.parquetry.catalog

import java.util

import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.parquetry.protocol.{Bridge, TableAnswer}
import org.apache.spark.sql.parquetry.table.VersionAnswers

/**
 * The newest known version of a table: its description, and the answers to questions about it.
 *
 * @param planner the number of the planner that described it
 */
case class Description(table: TableAnswer, planner: Int, answers: VersionAnswers)

/**
 * The versions of tables that a catalog has loaded last. Each load still asks the planner whether the
 * version is the newest. If it is, the planner does not send the description again.
 */
class Descriptions {
  private val most = 64
  private val byName = new util.LinkedHashMap[Identifier, Description](16, 0.75f, true) {
    override def removeEldestEntry(eldest: util.Map.Entry[Identifier, Description]): Boolean = size() > most
  }

  /** Returns the description that the planner in use has given, or None. */
  def find(name: Identifier): Option[Description] = synchronized(Option(byName.get(name))).filter(_.planner == Bridge.planner)

  def keep(name: Identifier, table: TableAnswer): Description = synchronized {
    val found = Description(table, Bridge.planner, new VersionAnswers)
    byName.put(name, found)
    found
  }
}
