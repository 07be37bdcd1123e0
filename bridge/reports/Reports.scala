package org.apache.spark.sql.parquetry.reports

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.CommandResult
import org.apache.spark.sql.classic.{Dataset, SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.parquetry.protocol.Json

/** The reports of queries, as Python reads them: the facts about a query, and settings of its session. */
object Reports {
  /**
   * The report of a DataFrame: of its own run, or else of the newest run of the same scans in its session.
   *
   * @param settings names of settings of the session; their values are reported, too
   */
  def of(data: DataFrame, settings: java.util.List[String]): String = {
    val query = data.asInstanceOf[Dataset[_]].queryExecution
    val session = query.sparkSession
    compact(shown(session, session.withActive(FinishedQueries.factsOfRun(query).json), settings))
  }

  /** The report of a DataFrame's plan. */
  def planned(data: DataFrame, settings: java.util.List[String]): String = {
    val query = data.asInstanceOf[Dataset[_]].queryExecution
    val session = query.sparkSession
    compact(shown(session, session.withActive(planned(query.analyzed match {
      case _: CommandResult => query
      case plan => session.sessionState.executePlan(plan, CommandExecutionMode.SKIP)
    }).json), settings))
  }

  /** The report of a statement that is planned and not run; it may be a command. */
  def ofSql(session: SparkSession, text: String, settings: java.util.List[String]): String = {
    val classic = session.asInstanceOf[ClassicSession]
    classic.withActive {
      val statement = classic.sessionState.sqlParser.parsePlan(text)
      compact(shown(classic, planned(classic.sessionState.executePlan(statement, CommandExecutionMode.SKIP)).json, settings))
    }
  }

  private def planned(query: QueryExecution): Facts = QueryFacts.of(query, "planned", _ => false)

  /** Adds the session's settings to the facts about a query. */
  def shown(session: ClassicSession, facts: JObject, settings: java.util.List[String]): JObject = {
    val values = settings.asScala.flatMap(name => session.conf.getOption(name).map(name -> _)).toMap
    JObject(facts.obj :+ ("settings" -> Json.strings(values): JField))
  }
}
