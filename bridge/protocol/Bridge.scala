package org.apache.spark.sql.parquetry.protocol

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong
import java.util.regex.Pattern

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.json4s._
import org.json4s.jackson.JsonMethods.compact
import py4j.GatewayServer

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.classic.SparkSession

/** A field of a question: a list whose items are JSON already. */
case class EncodedList(name: String, items: Seq[String]) {
  private[protocol] def within(question: String): String = items.mkString(s"""${question.dropRight(1)},"$name":[""", ",", "]}")
}

/** A question about a catalog. */
class PlannerQuestion(
    private[protocol] val catalog: CatalogRef, private[protocol] val op: String, private[protocol] val fields: Seq[JField],
    private[protocol] val list: Option[EncodedList] = None) {
  /** The question as it is sent. Equal texts about one version of a table have equal answers. */
  lazy val text: String = Bridge.text(this)
  def ask(): PlannerAnswer = Bridge.ask(this)
}

/**
 * The one gateway between Spark and the planner. It is below `org.apache.spark.sql`, since analysis errors
 * and `Dataset.ofRows` are visible only there.
 */
object Bridge extends Logging {
  /**
   * The bridge's version, written by the build. It is compared with the Python package's when a session is
   * attached.
   */
  val version: String = BridgeVersion.version

  private val protocol = 3
  @volatile private var agreed = Option.empty[Terms]
  @volatile private var words = patternOf(BridgeVersion.words)
  private val unparsedWords = patternOf(BridgeVersion.unparsedWords)

  /**
   * Sets the gateway through which the bridge calls the planner. New connections go to `port`, and begin with
   * `token`.
   *
   * @param process the id of the Python process, for messages
   */
  def connect(server: GatewayServer, port: Int, token: String, process: Long): Unit = {
    TokenClient.putInto(server, port, new TokenSockets(token, process))
    PlannerInUse.connect(server, token)
  }

  /** @param id of the planner among the Python objects that Py4J can call */
  def install(id: String): Unit = proxy(id).foreach(install(_, BridgeVersion.words.asJava))

  private def proxy(id: String): Option[Planner] =
    PlannerInUse.gateway.map(_.getGateway.createProxy(getClass.getClassLoader, Array[Class[_]](classOf[Planner]), id)).collect { case planner: Planner => planner }

  /** @param words the planner sees a statement before it is parsed if one of these occurs in it */
  def install(planner: Planner, words: java.util.List[String]): Unit = {
    this.words = patternOf(words.asScala.toSeq)
    PlannerInUse.attach(planner)
  }

  private def patternOf(words: Seq[String]): Option[Pattern] =
    Option.when(words.nonEmpty)(Pattern.compile(words.map(Pattern.quote).mkString("(?i)\\b(?:", "|", ")\\b")))

  def installed: Boolean = PlannerInUse.isAttached
  /** Number of the planner in use: each one that is attached has another. */
  def planner: Int = PlannerInUse.number

  /** Returns the option of a catalog that a question names by a reference, since it is or has a password. */
  def hiddenOption(reference: String): Array[Byte] = HiddenOptions.of(reference)

  /** Takes the planner's terms, which hold for all questions; called before `install`. */
  def agree(terms: String): Unit = agreed = Some(Codec.terms(terms))
  def terms: Terms = {
    if (agreed.isEmpty) PlannerInUse.get(PlannerInUse.deadline())
    agreed.get
  }

  private val changed = new AtomicLong
  /** Number of questions so far that may have changed a warehouse. */
  def changes: Long = changed.get()

  /** The session that Python takes for its own in a process that this JVM starts. */
  def defaultSession: SparkSession =
    SparkSession.getDefaultSession.orElse(SparkSession.getActiveSession).getOrElse(throw PlannerInUse.noSession)

  /**
   * Asks a question. If the planner's process ends meanwhile, it repeats a question that changes nothing.
   *
   * What Py4J throws has the whole question in its message, so it never leaves this method.
   *
   * @param op       the question's name
   * @param question the question
   * @param send     sends it to a planner
   * @param history  where to look whether a statement took effect
   */
  private def answered(
      op: String, question: String, send: (Planner, String) => String = _.ask(_), history: => String = "the table's history"): PlannerAnswer = {
    val deadline = PlannerInUse.deadline()
    lazy val text = if (terms.reading(op)) question else StatementOrigin.within(question)
    @tailrec def answer(asked: AttachedPlanner): String = attempt(asked, planner => Tracing.question(op, text)(send(planner, _))) match {
      case Right(text) => text
      case Left(lost) =>
        // it is the process that was asked: another thread may have started a new one by now
        val ended = asked.endsNow || (asked.isOfDriver && !lost.wasRaised && lost.refusal.isEmpty)
        if (!ended) lost.refusal.foreach(why => throw new ParquetryException("PLANNER_UNREACHABLE", why))
        if (!ended) throw new ParquetryException("INTERNAL",
          s"The planner did not answer $op (${lost.kind}): look into the log of its Python process, and report it.")
        if (!terms.reading(op)) throw new ParquetryException("PLANNER_ENDED",
          s"The planner's process ended while it answered $op: whether the statement took effect is not known, though never by half. " +
            s"Look at $history, and run the statement again if it is not there; a new process is started for it.", "40003")
        if (asked.isOfDriver || System.nanoTime() > deadline) throw new ParquetryException("PLANNER_ENDED",
          s"The planner's process ended while it answered $op, which changes nothing: run the statement again.", "40003")
        answer(PlannerInUse.get(deadline))
    }
    val first = PlannerInUse.get(deadline)
    val answered = try answer(first) finally if (!terms.reading(op)) changed.incrementAndGet()
    Codec.error(answered).foreach(error => throw raised(error))
    new PlannerAnswer(op, answered)
  }

  private def attempt(asked: AttachedPlanner, ask: Planner => String): Either[LostAnswer, String] =
    try {
      asked.sendAtOnce()
      Right(ask(asked.planner))
    } catch { case NonFatal(error) => Left(LostAnswer.from(error)) }

  private def question(op: String, fields: Seq[JField]): String =
    compact(JObject(List[JField]("protocol" -> JInt(protocol), "op" -> JString(op)) ++ fields))
  private def about(catalog: CatalogRef): Seq[JField] =
    Seq[JField]("catalog" -> JString(catalog.name), "options" -> catalog.shownOptions) ++
      Option.when(OrcPositions.used)("by_position" -> JBool(true))

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
    case _ => new ParquetryException(error.code, error.message, error.sqlstate)
  }

  def ask(catalog: CatalogRef, op: String, fields: JField*): PlannerAnswer = new PlannerQuestion(catalog, op, fields).ask()
  private[protocol] def ask(of: PlannerQuestion): PlannerAnswer = answered(of.op, of.text, history = historyOf(of.catalog, of.fields))
  private[protocol] def text(of: PlannerQuestion): String = {
    val text = question(of.op, about(of.catalog) ++ of.fields)
    of.list.fold(text)(_.within(text))
  }

  def write(catalog: CatalogRef, data: Object, op: String, fields: JField*): PlannerAnswer = {
    val text = question(op, about(catalog) ++ fields)
    answered(op, text, _.write(_, data), historyOf(catalog, fields))
  }

  private def texts(parts: Seq[JValue]): String = parts.collect { case JString(part) => part }.mkString(".")
  /** The statement that shows a table's versions, or what is in a database or a catalog. */
  private def historyOf(catalog: CatalogRef, fields: Seq[JField]): String = {
    val named = fields.toMap
    (named.get("table"), named.get("namespace")) match {
      case (Some(table: JObject), _) => s"CALL ${catalog.name}.system.history('${texts(Seq(table \ "database", table \ "table"))}')"
      case (_, Some(JArray(parts))) if named.contains("name") => s"SHOW TABLES IN ${texts(JString(catalog.name) +: parts)}"
      case _ => s"SHOW NAMESPACES IN ${catalog.name}"
    }
  }

  /** Has the planner check settings and options, and raises its error. */
  def check(fields: JField*): Unit = {
    val text = question("check_settings", fields)
    answered("check_settings", text)
  }

  /**
   * Has the planner count an audit that failed, for its metrics. The audit's own error matters more than one
   * that happens here.
   */
  def countFailedAudit(): Unit =
    try answered("count_failed_audit", question("count_failed_audit", Nil)) catch {
      case NonFatal(error) => logWarning(s"An audit that failed was not counted: ${error.getMessage}")
    }

  /** Returns lines about the joins of a query, made of the facts about its plan. */
  def explainJoins(fields: JField*): Seq[String] = {
    val text = question("explain_joins", fields)
    answered("explain_joins", text).as[JoinLinesAnswer].lines
  }

  /**
   * Returns the text to parse in place of a statement's, or None to parse the statement itself. The planner
   * is asked only if one of its words occurs in the statement.
   *
   * @param more what else the planner has to know of the session and the statement
   */
  def rewritten(statement: String, more: => Seq[JField]): Option[String] = asked(statement, words, more)

  /**
   * Has the planner look at a statement that every parser has refused. It raises an error that says what to
   * type instead if users of other products type such statements.
   *
   * @param more as in `rewritten`
   */
  def refuseUnparsed(statement: String, more: => Seq[JField]): Unit =
    asked(statement, unparsedWords, ("refused" -> JBool(true)) +: more)

  private def asked(statement: String, words: Option[Pattern], more: => Seq[JField]): Option[String] =
    if (!words.exists(_.matcher(statement).find())) None
    else {
      val text = question("rewrite_statement", Seq("text" -> JString(statement)) ++ more)
      answered("rewrite_statement", text).as[RewrittenAnswer].text
    }
}
