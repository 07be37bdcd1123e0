package org.apache.spark.sql.parquetry.protocol

import java.nio.charset.StandardCharsets
import java.util.{Locale, UUID}
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.json4s._

import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A catalog as the planner knows it: its name in the session, and the options of its configuration. */
case class CatalogRef(name: String, options: CaseInsensitiveStringMap) {
  private lazy val ownOptions: JObject = Json.strings(HiddenOptions.hidden(options.asScala.toMap))
  /** The options as questions have them: without passwords, and with the transaction under way. */
  private[protocol] def shownOptions: JObject = transaction.fold(ownOptions)(id => JObject(ownOptions.obj :+ ("transaction" -> JString(id))))

  /** The id of the session's transaction of several tables; all questions name it while it is under way. */
  @volatile var transaction: Option[String] = None
  def ask(op: String, fields: JField*): PlannerAnswer = Bridge.ask(this, op, fields: _*)
  def question(op: String, fields: JField*): PlannerQuestion = new PlannerQuestion(this, op, fields)
  def question(op: String, list: EncodedList, fields: JField*): PlannerQuestion = new PlannerQuestion(this, op, fields, Some(list))

  /** Without the options, which may have a password. */
  override def toString: String = s"catalog $name"
}

/**
 * Options of catalogs that are or may have passwords. Questions name them by references, since a question may
 * be shown by Py4J, in an error or in a log.
 */
private object HiddenOptions {
  /** As `planner/lake.py` knows references. */
  private val prefix = "parquetry-hidden:"
  /** Stores whose URLs have no credentials. */
  private val open = Set("sqlite", "memory")
  private val references = new ConcurrentHashMap[String, String]()
  private val values = new ConcurrentHashMap[String, String]()

  def hidden(options: Map[String, String]): Map[String, String] =
    options.map { case (name, value) => name -> (if (isHidden(name.toLowerCase(Locale.ROOT), value)) reference(value) else value) }

  private def isHidden(name: String, value: String): Boolean =
    name.contains("password") || (name == "store" && !open(value.takeWhile(_ != ':')))

  private def reference(value: String): String = references.computeIfAbsent(value, hidden => {
    val made = s"$prefix${UUID.randomUUID()}"
    values.put(made, hidden)
    made
  })

  def of(reference: String): Array[Byte] =
    Option(values.get(reference)).getOrElse(throw new NoSuchElementException("no option has this reference")).getBytes(StandardCharsets.UTF_8)
}
