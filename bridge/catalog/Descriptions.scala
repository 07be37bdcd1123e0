package org.apache.spark.sql.parquetry.catalog

import java.util

import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.parquetry.protocol.{Bridge, TableAnswer}
import org.apache.spark.sql.parquetry.table.VersionAnswers

/**
 * The newest known version of a table: its description, and the answers to questions about it.
 *
 * @param planner the number of the planner that described it
 * @param mark the metastore's mark before the planner said last that this version is the newest
 */
case class Description(table: TableAnswer, planner: Int, answers: VersionAnswers, mark: Option[StoreMark])

/**
 * The versions of tables that a catalog has loaded last. A load asks the planner whether the version is the
 * newest, unless the metastore's mark shows that no one has written since. If it is the newest, the planner
 * does not send the description again.
 */
class Descriptions {
  private val most = 64
  private val byName = new util.LinkedHashMap[Identifier, Description](16, 0.75f, true) {
    override def removeEldestEntry(eldest: util.Map.Entry[Identifier, Description]): Boolean = size() > most
  }
  /** All tables of a catalog are in one metastore. */
  @volatile private var marked = Option.empty[String]

  /** Returns the description that the planner in use has given, or None. */
  def find(name: Identifier): Option[Description] = synchronized(Option(byName.get(name))).filter(_.planner == Bridge.planner)

  /** The metastore's mark, to be taken before the planner is asked; None if there is none, or none yet. */
  def mark: Option[StoreMark] = marked.flatMap(StoreMark.read)

  /** Returns the description of a table's newest version if that is certain without a question. */
  def newest(name: Identifier): Option[Description] = find(name).filter(known => known.mark.isDefined && known.mark == mark)

  def keep(name: Identifier, table: TableAnswer, mark: Option[StoreMark]): Description = synchronized {
    marked = table.changeFile
    put(name, Description(table, Bridge.planner, new VersionAnswers, mark))
  }
  /** The description of a version that may not be the newest; it is not kept. */
  def past(table: TableAnswer): Description = Description(table, Bridge.planner, new VersionAnswers, None)
  /** Notes that the planner has said once more that a version is the newest. */
  def confirm(name: Identifier, known: Description, mark: Option[StoreMark]): Description = synchronized {
    if (byName.get(name) eq known) put(name, known.copy(mark = mark)) else known
  }
  private def put(name: Identifier, one: Description): Description = {
    byName.put(name, one)
    one
  }
}
