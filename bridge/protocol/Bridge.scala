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
 * The one door between Spark and the planner. It lives below `org.apache.spark.sql` because analysis errors
 * and `Dataset.ofRows` are visible from there only.
 */
object Bridge {
  /** Compared with the Python package's version when a session is attached; written by the build. */
  val version: String = BridgeVersion.version

  private val protocol = 2
  @volatile private var planner: Planner = _
  @volatile private var agreed = Option.empty[Terms]
  @volatile private var words = Option.empty[Pattern]
  @volatile private var server = Option.empty[GatewayServer]

  /** Tells over whose connections the planner is asked, and where, with what token, those begin that are new. */
  def connect(server: GatewayServer, port: Int, token: String): Unit = {
    TokenClient.putInto(server, port, token)
    this.server = Some(server)
  }

  /** @param id of the planner, among the objects that Python answers for */
  def install(id: String, words: java.util.List[String]): Unit =
    server.map(_.getGateway.createProxy(getClass.getClassLoader, Array[Class[_]](classOf[Planner]), id)).foreach {
      case planner: Planner => install(planner, words)
    }

  /** @param words the planner wants to see a statement in which one of them occurs, before it is parsed */
  def install(planner: Planner, words: java.util.List[String]): Unit = {
    this.words = Option.when(!words.isEmpty)(
      Pattern.compile(words.asScala.map(Pattern.quote).mkString("(?i)\\b(?:", "|", ")\\b")))
    this.planner = planner
  }

  def installed: Boolean = planner != null

  /** Takes what the planner tells once for all questions, before it is installed. */
  def agree(terms: String): Unit = agreed = Some(Answers.terms(parse(terms)))
  def terms: Terms = agreed.getOrElse(throw notAttached)

  /** The planner, on a connection that sends at once. */
  private def asked: Planner = {
    if (planner == null) throw notAttached
    server.map(_.getCallbackClient).foreach {
      // Py4J writes what is long in parts of 8 kB: a small one would wait for the receipt of those before, which takes 40 ms
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

  /** Keeps an error that Spark raised while the planner was at work: it is raised again when the answer is here. */
  def keep(error: Throwable): String = {
    val id = UUID.randomUUID().toString
    thrown.put(id, error)
    id
  }

  /** Spark's own exceptions where Spark looks for them (IF EXISTS and the like), ours everywhere else. */
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

  /** Raises what the planner has to say against settings and options. */
  def check(fields: JField*): Unit = unwrap(asked.ask(question("check_settings", fields)))

  /** The text to parse in place of a statement's; the planner is asked where it wants to be, with more that it has to know. */
  def rewritten(statement: String, more: => Seq[JField]): Option[String] =
    if (!words.exists(_.matcher(statement).find())) None
    else Answers.rewritten(unwrap(asked.ask(question("rewrite_statement",
      Seq("text" -> JString(statement)) ++ more))))
}
