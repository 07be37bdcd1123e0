package org.apache.spark.sql.parquetry.protocol

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap
import java.util.regex.Pattern

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse}
import py4j.{GatewayServer, PythonClient}

import org.apache.spark.sql.catalyst.analysis._

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
  @volatile private var words = Option.empty[Pattern]
  @volatile private var server = Option.empty[GatewayServer]

  /**
   * Sets the gateway through which the bridge calls the planner. New connections go to `port`, and begin with
   * `token`.
   */
  def connect(server: GatewayServer, port: Int, token: String): Unit = {
    TokenClient.putInto(server, port, token)
    this.server = Some(server)
  }

  /** @param id of the planner among the Python objects that Py4J can call */
  def install(id: String, words: java.util.List[String]): Unit =
    server.map(_.getGateway.createProxy(getClass.getClassLoader, Array[Class[_]](classOf[Planner]), id)).foreach {
      case planner: Planner => install(planner, words)
    }

  /** @param words the planner sees a statement before it is parsed if one of these occurs in it */
  def install(planner: Planner, words: java.util.List[String]): Unit = {
    this.words = Option.when(!words.isEmpty)(
      Pattern.compile(words.asScala.map(Pattern.quote).mkString("(?i)\\b(?:", "|", ")\\b")))
    this.planner = planner
  }

  def installed: Boolean = planner != null

  /** Takes the planner's terms, which hold for all questions; called before `install`. */
  def agree(terms: String): Unit = agreed = Some(Answers.terms(parse(terms)))
  def terms: Terms = agreed.getOrElse(throw notAttached)

  /** The planner, on a connection that sends at once. */
  private def asked: Planner = {
    if (planner == null) throw notAttached
    server.map(_.getCallbackClient).foreach {
      // Py4J writes long texts in parts of 8 kB; a small last part would wait 40 ms for the receipt of the
      // parts before
      case client: PythonClient => Option(client.getPerThreadConnection).map(_.getSocket).filterNot(_.isClosed).foreach(_.setTcpNoDelay(true))
      case _ =>
    }
    planner
  }

  private def notAttached = new ParquetryException("NOT_ATTACHED",
    "No planner is attached to this session: call parquetry.attach(spark) in Python once, " +
      "before the first statement on a Parquetry catalog. spark-sql and a Thrift server of their own have no Python: " +
      "start the server within a Python session (docs/sql-clients.md).")

  private def question(op: String, fields: Seq[JField]): String =
    compact(JObject(List[JField]("protocol" -> JInt(protocol), "op" -> JString(op)) ++ fields))
  private def about(catalog: CatalogRef): Seq[JField] =
    Seq("catalog" -> JString(catalog.name), "options" -> Json.strings(catalog.options.asScala.toMap))

  private def unwrap(answer: String): JValue = {
    val parsed = parse(answer)
    Answers.error(parsed).foreach { case (code, message, name) => throw raised(code, message, name) }
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
  private def raised(code: String, message: String, name: Seq[String]): Throwable = code match {
    case "TABLE_NOT_FOUND" if name.nonEmpty => new NoSuchTableException(name)
    case "TABLE_EXISTS" if name.nonEmpty => new TableAlreadyExistsException(name)
    case "NAMESPACE_NOT_FOUND" if name.nonEmpty => new NoSuchNamespaceException(name)
    case "NAMESPACE_EXISTS" if name.nonEmpty => new NamespaceAlreadyExistsException(name.toArray)
    case "NAMESPACE_NOT_EMPTY" if name.nonEmpty => new NonEmptyNamespaceException(name.toArray)
    case "SPARK" => thrown.remove(message)
    case _ => new ParquetryException(code, message)
  }

  def ask(catalog: CatalogRef, op: String, fields: JField*): JValue =
    unwrap(asked.ask(question(op, about(catalog) ++ fields)))

  def write(catalog: CatalogRef, data: Object, op: String, fields: JField*): JValue =
    unwrap(asked.write(question(op, about(catalog) ++ fields), data))

  /** Has the planner check settings and options, and raises its error. */
  def check(fields: JField*): Unit = unwrap(asked.ask(question("check_settings", fields)))

  /**
   * Returns the text to parse in place of a statement's, or None to parse the statement itself. The planner
   * is asked only if one of its words occurs in the statement.
   *
   * @param more what else the planner has to know of the session and the statement
   */
  def rewritten(statement: String, more: => Seq[JField]): Option[String] =
    if (!words.exists(_.matcher(statement).find())) None
    else Answers.rewritten(unwrap(asked.ask(question("rewrite_statement",
      Seq("text" -> JString(statement)) ++ more))))
}
