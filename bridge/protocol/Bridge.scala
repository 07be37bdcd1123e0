package org.apache.spark.sql.parquetry.protocol

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap
import java.util.regex.Pattern

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse}
import py4j.{GatewayServer, Py4JException, Py4JNetworkException, PythonClient}

import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.parquetry.process.{PlannerProcess, PlannerStartException}

/**
 * The one gateway between Spark and the planner. It is below `org.apache.spark.sql`, since analysis errors
 * and `Dataset.ofRows` are visible only there.
 */
object Bridge {
  /**
   * The bridge's version, written by the build. It is compared with the Python package's when a session is
   * attached.
   */
  val version: String = BridgeVersion.version

  private val protocol = 2
  @volatile private var planner: Planner = _
  @volatile private var agreed = Option.empty[Terms]
  @volatile private var words = patternOf(BridgeVersion.words)
  @volatile private var server = Option.empty[GatewayServer]
  @volatile private var process = Option.empty[PlannerProcess]

  /**
   * Sets the gateway through which the bridge calls the planner. New connections go to `port`, and begin with
   * `token`.
   */
  def connect(server: GatewayServer, port: Int, token: String): Unit = {
    TokenClient.putInto(server, port, token)
    this.server = Some(server)
  }

  /** @param id of the planner among the Python objects that Py4J can call */
  def install(id: String): Unit = proxy(id).foreach(install(_, BridgeVersion.words.asJava))

  private def proxy(id: String): Option[Planner] =
    server.map(_.getGateway.createProxy(getClass.getClassLoader, Array[Class[_]](classOf[Planner]), id)).collect { case planner: Planner => planner }

  /** @param words the planner sees a statement before it is parsed if one of these occurs in it */
  def install(planner: Planner, words: java.util.List[String]): Unit = {
    this.words = patternOf(words.asScala.toSeq)
    this.planner = planner
  }

  private def patternOf(words: Seq[String]): Option[Pattern] =
    Option.when(words.nonEmpty)(Pattern.compile(words.map(Pattern.quote).mkString("(?i)\\b(?:", "|", ")\\b")))

  def installed: Boolean = planner != null

  /** Takes the planner's terms, which hold for all questions; called before `install`. */
  def agree(terms: String): Unit = agreed = Some(Answers.terms(parse(terms)))
  def terms: Terms = {
    if (agreed.isEmpty) asked
    agreed.get
  }

  /** The session that Python takes for its own in a process that this JVM starts. */
  def defaultSession: SparkSession =
    SparkSession.getDefaultSession.orElse(SparkSession.getActiveSession).getOrElse(throw noSession)

  /** The planner, on a connection that sends at once. */
  private def asked: Planner = {
    if (planner == null || process.exists(!_.isAlive)) startProcess()
    server.map(_.getCallbackClient).foreach {
      // Py4J writes long texts in parts of 8 kB; a small last part would wait 40 ms for the receipt of the
      // parts before
      case client: PythonClient => Option(client.getPerThreadConnection).map(_.getSocket).filterNot(_.isClosed).foreach(_.setTcpNoDelay(true))
      case _ =>
    }
    planner
  }

  private val starting = new Object

  /**
   * Starts a planner where there is none, or where the one that was started has ended: it held nothing but
   * caches.
   */
  private def startProcess(): Unit = starting.synchronized {
    if (process.exists(!_.isAlive)) forgetProcess()
    if (planner == null) {
      val context = SparkSession.getActiveSession.orElse(SparkSession.getDefaultSession).map(_.sparkContext).getOrElse(throw noSession)
      process =
        try Some(PlannerProcess.start(context, version, () => planner != null))
        catch { case failed: PlannerStartException => throw new ParquetryException("PLANNER_NOT_STARTED", failed.getMessage) }
    }
  }

  private def forgetProcess(): Unit = {
    process = None
    planner = null
    server = None
  }

  private def noSession = new ParquetryException("NOT_ATTACHED",
    "There is no Spark session that a planner could be started for: make one with SparkSession.builder.")

  /**
   * Asks a question. If the planner's process ends meanwhile, it repeats a question that changes nothing.
   *
   * @param op      the question's name
   * @param ask     asks it of a planner
   * @param history where to look whether a statement took effect
   */
  private def answered(op: String, ask: Planner => String, history: => String = "the table's history"): JValue = {
    val planner = asked
    val answer =
      try ask(planner)
      catch {
        case _: Py4JException | _: Py4JNetworkException if process.exists(_.endsNow) =>
          if (!terms.reading(op)) {
            throw new ParquetryException("PLANNER_ENDED",
              s"The planner's process ended while it answered $op: whether the statement took effect is not known, though never by half. " +
                s"Look at $history, and run the statement again if it is not there; a new process is started for it.", "40003")
          }
          ask(asked)
      }
    unwrap(answer)
  }

  private def question(op: String, fields: Seq[JField]): String =
    compact(JObject(List[JField]("protocol" -> JInt(protocol), "op" -> JString(op)) ++ fields))
  private def about(catalog: CatalogRef): Seq[JField] =
    Seq[JField]("catalog" -> JString(catalog.name), "options" -> Json.strings(catalog.options.asScala.toMap)) ++
      Option.when(OrcPositions.used)("by_position" -> JBool(true))

  private def unwrap(answer: String): JValue = {
    val parsed = parse(answer)
    Answers.error(parsed).foreach(error => throw raised(error))
    parsed \ "ok"
  }

  private val thrown = new ConcurrentHashMap[String, Throwable]()

  /**
   * Keeps an error that Spark raised while the planner worked; it is raised again when the planner's answer
   * arrives.
   */
  def keep(error: Throwable): String = {
    val id = UUID.randomUUID().toString
    thrown.put(id, error)
    id
  }

  /** Spark's own exception where Spark catches it (for IF EXISTS and the like), ours in all other cases. */
  private def raised(error: PlannerError): Throwable = error.code match {
    case "TABLE_NOT_FOUND" if error.name.nonEmpty => new NoSuchTableException(error.name)
    case "TABLE_EXISTS" if error.name.nonEmpty => new TableAlreadyExistsException(error.name)
    case "NAMESPACE_NOT_FOUND" if error.name.nonEmpty => new NoSuchNamespaceException(error.name)
    case "NAMESPACE_EXISTS" if error.name.nonEmpty => new NamespaceAlreadyExistsException(error.name.toArray)
    case "NAMESPACE_NOT_EMPTY" if error.name.nonEmpty => new NonEmptyNamespaceException(error.name.toArray)
    case "SPARK" => thrown.remove(error.message)
    case _ => new ParquetryException(error.code, error.message, error.sqlState)
  }

  def ask(catalog: CatalogRef, op: String, fields: JField*): JValue =
    answered(op, _.ask(question(op, about(catalog) ++ fields)))

  def write(catalog: CatalogRef, data: Object, op: String, fields: JField*): JValue =
    answered(op, _.write(question(op, about(catalog) ++ fields), data), historyOf(catalog, fields))

  /** The statement that shows a table's versions. */
  private def historyOf(catalog: CatalogRef, fields: Seq[JField]): String =
    fields.collectFirst { case ("table", table) => s"CALL ${catalog.name}.system.history('${Answers.path(table).mkString(".")}')" }
      .getOrElse("the table's history")

  /** Has the planner check settings and options, and raises its error. */
  def check(fields: JField*): Unit = answered("check_settings", _.ask(question("check_settings", fields)))

  /**
   * Returns the text to parse in place of a statement's, or None to parse the statement itself. The planner
   * is asked only if one of its words occurs in the statement.
   *
   * @param more what else the planner has to know of the session and the statement
   */
  def rewritten(statement: String, more: => Seq[JField]): Option[String] =
    if (!words.exists(_.matcher(statement).find())) None
    else Answers.rewritten(answered("rewrite_statement",
      _.ask(question("rewrite_statement", Seq("text" -> JString(statement)) ++ more))))
}
