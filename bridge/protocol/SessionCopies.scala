package org.apache.spark.sql.parquetry.protocol

import java.util.LinkedHashMap

import org.apache.spark.sql.catalyst.analysis.{NoSuchDatabaseException, NoSuchNamespaceException}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}

/**
 * Copies of sessions with other settings, for queries that run with these.
 *
 * A copy serves again while the session has the same settings, place, strategies and artifacts (`Taken`).
 * A copy takes no tags of jobs. Its jobs have the tags of the statement that runs them.
 *
 * Threads of Spark's pools keep the session that was active when they began. So a new copy for each query
 * would fill the memory.
 */
object SessionCopies {
  /** Copies of all sessions of a JVM. */
  private val kept = 8

  /**
   * The parts of a session that a copy takes over, and that analyzed plans still need.
   *
   * @param settings all settings of the session.
   * @param place the current catalog and namespace.
   * @param planning strategies and rules that somebody added to the running session.
   * @param artifacts jars, classes, Python modules and files that its clients have added.
   */
  private case class Taken(settings: Map[String, String], place: Seq[String], planning: Seq[Any], artifacts: Seq[Any])
  private case class Key(session: ClassicSession, taken: Taken, changed: Map[String, String])
  private val copies = new LinkedHashMap[Key, ClassicSession](kept * 2, 0.75f, true) {
    override def removeEldestEntry(eldest: java.util.Map.Entry[Key, ClassicSession]): Boolean = size > kept
  }

  /** Returns a session like another one, but for some settings. Its plans have to be analyzed before. */
  def of(session: ClassicSession, settings: Map[String, String]): ClassicSession = {
    val key = Key(session, taken(session), settings)
    found(key).getOrElse {
      // not made inside: it asks a catalog for its namespace, and other sessions do not wait for the answer
      val copy = withoutTags(session)(session.cloneSession())
      val isOfKey = copy.sessionState.conf.getAllConfs == key.taken.settings // another thread may change the session
      adapt(copy, session, settings)
      if (isOfKey) keep(key, copy) else copy
    }
  }

  private def found(key: Key): Option[ClassicSession] = synchronized {
    copies.keySet.removeIf(_.session.sparkContext.isStopped)
    Option(copies.get(key))
  }

  private def keep(key: Key, copy: ClassicSession): ClassicSession = synchronized {
    Option(copies.putIfAbsent(key, copy)).getOrElse(copy)
  }

  private def taken(session: ClassicSession): Taken = {
    val state = session.sessionState
    Taken(state.conf.getAllConfs,
      state.catalogManager.currentCatalog.name() +: state.catalogManager.currentNamespace.toSeq,
      state.experimentalMethods.extraStrategies ++ state.experimentalMethods.extraOptimizations,
      artifacts(session))
  }

  /** Returns what clients have added. A class is in no list, but the class loader is a new one with each. */
  private def artifacts(session: ClassicSession): Seq[Any] = {
    val (context, manager) = (session.sparkContext, session.sessionState.artifactManager)
    Seq(manager.classloader, manager.getPythonIncludes) ++
      Seq(context.addedJars, context.addedFiles, context.addedArchives).flatMap(_.get(session.sessionUUID)).map(_.toMap)
  }

  private def adapt(copy: ClassicSession, session: ClassicSession, settings: Map[String, String]): Unit = {
    settings.foreach { case (key, value) => copy.sessionState.conf.setConfString(key, value) }
    // a clone begins at the default catalog and database, but rows, or a CHECK, may call current_database()
    val Seq(from, to) = Seq(session, copy).map(_.sessionState.catalogManager)
    if (from.currentCatalog.name() != to.currentCatalog.name()) to.setCurrentCatalog(from.currentCatalog.name())
    if (!from.currentNamespace.sameElements(to.currentNamespace)) {
      try to.setCurrentNamespace(from.currentNamespace) catch {
        case _: NoSuchNamespaceException | _: NoSuchDatabaseException => // was dropped; the session may write elsewhere
      }
    }
  }

  /** Hides the tags that this thread's jobs of a session have, while the body runs. */
  private def withoutTags[T](session: ClassicSession)(body: => T): T = {
    val tags = session.managedJobTags.get()
    val hidden = tags.toMap
    tags.clear()
    try body finally tags ++= hidden
  }
}
