package org.apache.spark.sql.parquetry.catalog

import java.util.concurrent.TimeUnit

import scala.collection.mutable

import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.parquetry.protocol.{Bridge, RelationAnswer, TableRef}

/** A name in a catalog. */
case class LoadedName(catalog: PlannerCatalog, name: Identifier)

/**
 * The planner's answer to the load of a name.
 *
 * @param known what the session knew of the table before
 * @param changes `Bridge.changes` at that time
 * @param mark the metastore's mark at that time
 */
case class Loaded(answer: RelationAnswer, known: Option[Description], changes: Long, mark: Option[StoreMark]) {
  /** Whether this process has changed no table since. */
  def isNew: Boolean = changes == Bridge.changes
  /** The version of a table, or None for a view. */
  def version: Option[TableRef] = answer.table.orElse(known.map(_.table).filter(_ => answer.unchanged)).map(_.table)
}

/** The tables that one query has loaded in its analysis. Spark loads them again before it plans the query. */
class LoadGroup {
  private val names = mutable.LinkedHashSet.empty[LoadedName]
  def add(name: LoadedName): Unit = synchronized(names += name)
  def all: Seq[LoadedName] = synchronized(names.toSeq)
}

/**
 * Asks about all tables of a query in one question, when the first of them is loaded.
 *
 * Spark loads each table of a query by itself. It does so when it analyses the query. Since Spark 4.1 it does
 * so once more, when it refreshes the query's tables before it plans them. An answer serves only the analysis
 * or the refreshing whose question it answers, and there only once. So each query sees what others have
 * committed before, and what its own statement has changed.
 */
object LoadsTogether {
  /**
   * @param of the tracker of the query that is analysed, or the group that is refreshed
   */
  private class Round(val of: AnyRef, val group: LoadGroup) {
    private val names = mutable.Set.empty[LoadedName]
    val expected = mutable.LinkedHashSet.empty[LoadedName]
    def expect(more: Seq[LoadedName]): Unit = expected ++= more.filter(names.add)
    val answers = mutable.Map.empty[LoadedName, Loaded]
    /** The loaded tables. Later questions, such as about a view's tables, are to be of the same moment. */
    val versions = mutable.Map.empty[LoadedName, TableRef]
    private val begin = System.nanoTime()
    def isOver: Boolean = System.nanoTime() - begin > MaxNanos
  }
  /** A refreshing takes milliseconds. If it ended by an error, its answers serve no other one. */
  private val MaxNanos = TimeUnit.SECONDS.toNanos(1)
  private val round = new ThreadLocal[Round]
  private val seen = new ThreadLocal[LoadGroup]

  /** Notes what a statement names that is analysed on this thread. */
  def expect(names: Seq[LoadedName]): Unit = QueryPlanningTracker.get.foreach(analysed(_).expect(names))

  /** Notes that Spark has read the version of a table. It does so before it loads the table again. */
  def see(group: LoadGroup): Unit = seen.set(group)

  /** Ends the refreshing of a query's tables: no other one takes its answers. */
  def endRefresh(): Unit = {
    seen.remove()
    if (QueryPlanningTracker.get.isEmpty) round.remove()
  }

  /**
   * Loads a name.
   *
   * @param ask loads the name, and others of the same catalog, as of the moment of loaded versions. It has no
   *   answer for a name that cannot be loaded. If that is the only name, it raises the error.
   * @return the answer, and the group of the tables that are loaded with this one
   */
  def load(name: LoadedName)(ask: (Seq[LoadedName], Seq[TableRef]) => Seq[Option[Loaded]]): (Loaded, LoadGroup) = {
    val current = QueryPlanningTracker.get.fold(refreshed(name))(tracker => Some(analysed(tracker)))
    current.foreach(_.expected -= name)
    val loaded = current.flatMap(_.answers.remove(name)).filter(_.isNew).getOrElse {
      val others = current.toSeq.flatMap(_.expected).filter(_.catalog eq name.catalog)
      current.foreach(_.expected --= others)
      // a table that is loaded again has been altered by the statement itself
      val beside = current.toSeq.flatMap(_.versions).collect {
        case (other, version) if (other.catalog eq name.catalog) && other != name && !others.contains(other) => version
      }
      val answers = ask(name +: others, beside)
      for (one <- current; (other, Some(answer)) <- others.zip(answers.tail)) one.answers(other) = answer
      answers.head.getOrElse(ask(Seq(name), beside).head.get)
    }
    for (one <- current; version <- loaded.version) one.versions(name) = version
    val group = current.fold(new LoadGroup)(_.group)
    if (loaded.answer.view.isEmpty) group.add(name)
    (loaded, group)
  }

  /** Notes that a name needs no answer, and returns the group of the tables that are loaded with it. */
  def skip(name: LoadedName, version: TableRef): LoadGroup = {
    val current = QueryPlanningTracker.get.map(analysed)
    current.foreach { one =>
      one.expected -= name
      one.versions(name) = version
    }
    val group = current.fold(new LoadGroup)(_.group)
    group.add(name)
    group
  }

  private def analysed(tracker: QueryPlanningTracker): Round = Option(round.get()).filter(_.of eq tracker).getOrElse {
    val made = new Round(tracker, new LoadGroup)
    round.set(made)
    made
  }

  private def refreshed(name: LoadedName): Option[Round] = Option(seen.get()).filter(_.all.contains(name)).filter(_ => isRefreshing).map { group =>
    Option(round.get()).filter(before => (before.of eq group) && before.answers.contains(name) && !before.isOver).getOrElse {
      val made = new Round(group, group)
      made.expect(group.all)
      round.set(made)
      made
    }
  }

  private def isRefreshing: Boolean = StackWalker.getInstance().walk(_.limit(FramesToSpark).anyMatch(_.getClassName.startsWith(Refreshing)))
  private val Refreshing = "org.apache.spark.sql.execution.datasources.v2.V2TableRefreshUtil$"
  /** More than there are between Spark's load of a table and this object. */
  private val FramesToSpark = 30L
}

/** Ends the refreshing of a query's tables: the first rule of ours that sees the plan after it. */
object EndRefresh extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    LoadsTogether.endRefresh()
    plan
  }
}
