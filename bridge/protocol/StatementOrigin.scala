package org.apache.spark.sql.parquetry.protocol

import scala.util.Try

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.SparkContext
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.catalyst.CurrentUserContext
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, V2CreateTableAsSelectPlan, V2WriteCommand}
import org.apache.spark.sql.catalyst.trees.CurrentOrigin
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.Utils

/**
 * Who and what asks for a change: user, application, door and statement, which go with each question that may
 * make a version. The planner decides what of it a table's history records.
 */
private[protocol] object StatementOrigin {
  /** Characters of a statement that are sent: more than the history has. */
  private val maxCharacters = 1000
  private val connectTag = "SparkConnect_OperationTag_User_(.*)_Session_[^_]*_Operation_[^_]*".r
  private val thriftThreads = "HiveServer2-"
  private val sqlShell = "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"
  private lazy val isSqlShell = Option(System.getProperty("sun.java.command")).exists(_.contains(sqlShell))

  /** Adds the origin to the text of a question. */
  def within(question: String): String = s"""${question.dropRight(1)},"origin":${compact(field)}}"""

  private def field: JObject = {
    val context = SparkContext.getActive
    val connectUser = context.flatMap(connected)
    val text = statement(context)
    val door =
      if (connectUser.nonEmpty) "connect"
      else if (Thread.currentThread.getName.startsWith(thriftThreads)) "thrift"
      else if (isSqlShell) "spark-sql"
      else if (text.nonEmpty) "sql"
      else "dataframe"
    JObject(
      "user" -> string(connectUser.orElse(Try(CurrentUserContext.getCurrentUser).toOption)),
      "door" -> JString(door),
      "application" -> string(context.map(_.applicationId)),
      "application_name" -> string(context.map(_.appName)),
      "statement" -> string(text.map(redacted(_).take(maxCharacters))),
      Settings.field)
  }

  private def string(text: Option[String]): JValue = text.fold[JValue](JNull)(JString(_))

  /** The user of Spark Connect, whose operations carry a tag on their threads. */
  private def connected(context: SparkContext): Option[String] = connectUser(context.getJobTags())
  def connectUser(tags: Set[String]): Option[String] = tags.collectFirst { case connectTag(user) => user }

  /** Spark's own pattern of secrets, which it hides in its event log, too. */
  private def redacted(text: String): String = Utils.redact(SQLConf.get.stringRedactionPattern, text)

  private def statement(context: Option[SparkContext]): Option[String] =
    CurrentOrigin.get.sqlText.orElse {
      for {
        running <- context
        id <- Option(running.getLocalProperty(SQLExecution.EXECUTION_ROOT_ID_KEY))
          .orElse(Option(running.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)))
        query <- Option(SQLExecution.getQueryExecution(id.toLong))
        text <- StatementText.of(query.logical)
      } yield text
    }.map(_.trim).filter(_.nonEmpty)
}

/**
 * How a query came that has run, as far as its start tells.
 *
 * @param door the door, or None: SQL or a DataFrame of the application itself
 * @param user the user, or None if it is not known
 */
case class ExecutionOrigin(door: Option[String], user: Option[String])

object ExecutionOrigin {
  private val thrift = "hive.thriftserver.SparkExecuteStatementOperation"
  private val shell = "hive.thriftserver.SparkSQLDriver"

  /**
   * @param details the stack of the thread that began the query
   * @param tags    of its jobs
   */
  def of(context: SparkContext, details: String, tags: Set[String]): ExecutionOrigin =
    StatementOrigin.connectUser(tags) match {
      case found: Some[String] => ExecutionOrigin(Some("connect"), found)
      case None if details.contains(thrift) => ExecutionOrigin(Some("thrift"), None)
      case None => ExecutionOrigin(Option.when(details.contains(shell))("spark-sql"), Some(context.sparkUser))
    }

  /** A statement without what the session's pattern of secrets finds in it. */
  def redacted(session: SparkSession, text: String): String =
    Utils.redact(session.sessionState.conf.stringRedactionPattern, text).take(maxCharacters)
  private val maxCharacters = 20000
}

/** The text of a statement that Spark keeps with its plan. */
object StatementText {
  def of(plan: LogicalPlan): Option[String] = {
    val whole = plan match {
      // of CREATE TABLE AS, only the table's name has it
      case create: V2CreateTableAsSelectPlan => create.name.origin.sqlText
      // Spark 4.0 knows the text of an INSERT below it alone; the query of a DataFrame begins its text
      case write: V2WriteCommand => write.origin.sqlText.orElse(write.query.collectFirst {
        case of if of.origin.sqlText.nonEmpty => of.origin
      }.filter(_.startIndex.exists(_ > 0)).flatMap(_.sqlText))
      case other => other.origin.sqlText
    }
    whole.map(_.trim)
  }
}
