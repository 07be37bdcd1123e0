package org.apache.spark.sql.parquetry.protocol

import java.util.LinkedHashMap

import org.apache.spark.sql.catalyst.analysis.{NoSuchDatabaseException, NoSuchNamespaceException}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}

/**
 * Copies of sessions with other settings, for queries that run with these.
 *
 * A copy serves again while the session's own settings, catalog and database are the same. Threads of Spark's
 * pools keep the session that was active when they began. So a new copy for each query would fill the memory.
 */
object SessionCopies {
  /** Copies of all sessions of a JVM. */
  private val kept = 8

  private case class Key(session: ClassicSession, own: Map[String, String], settings: Map[String, String], place: Seq[String])
  private val copies = new LinkedHashMap[Key, ClassicSession](kept * 2, 0.75f, true) {
    override def removeEldestEntry(eldest: java.util.Map.Entry[Key, ClassicSession]): Boolean = size > kept
  }

  /** Returns a session like another one, but for some settings. Its plans have to be analyzed before. */
  def of(session: ClassicSession, settings: Map[String, String]): ClassicSession = synchronized {
    copies.keySet.removeIf(_.session.sparkContext.isStopped)
    val manager = session.sessionState.catalogManager
    val key = Key(session, session.sessionState.conf.getAllConfs, settings, manager.currentCatalog.name() +: manager.currentNamespace.toSeq)
    copies.computeIfAbsent(key, _ => made(session, settings))
  }

  private def made(session: ClassicSession, settings: Map[String, String]): ClassicSession = {
    val copy = session.cloneSession()
    settings.foreach { case (key, value) => copy.sessionState.conf.setConfString(key, value) }
    // a clone begins at the default catalog and database, but rows, or a CHECK, may call current_database()
    val Seq(from, to) = Seq(session, copy).map(_.sessionState.catalogManager)
    if (from.currentCatalog.name() != to.currentCatalog.name()) to.setCurrentCatalog(from.currentCatalog.name())
    if (!from.currentNamespace.sameElements(to.currentNamespace)) {
      try to.setCurrentNamespace(from.currentNamespace) catch {
        case _: NoSuchNamespaceException | _: NoSuchDatabaseException => // was dropped; the session may write elsewhere
      }
    }
    copy
  }
}
