package org.apache.spark.sql.parquetry.protocol

import java.lang.management.ManagementFactory
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

import org.json4s.{JArray, JInt, JObject, JString}
import org.json4s.jackson.JsonMethods.compact

/**
 * Times of the questions to the planner, and of the rules that looked at plans with tables of ours, while a
 * trace is taken (`parquetry/spark/serving/trace.py`).
 */
object Tracing {
  @volatile private var isOn = false
  private val clock = ManagementFactory.getThreadMXBean
  private val numbers = new AtomicLong
  private val rules = new ThreadLocal[List[String]] { override def initialValue(): List[String] = Nil }
  private val steps = mutable.ArrayBuffer.empty[TracedStep]
  private val MaxSteps = 100000
  private val walker = StackWalker.getInstance()

  /** Begins or ends to measure. */
  def switch(on: Boolean): Unit = synchronized {
    steps.clear()
    isOn = on
  }
  /** Returns what was measured since the last call, as JSON. */
  def take(): String = synchronized {
    val text = compact(Codec.encode(TracedSteps(steps.toList)))
    steps.clear()
    text
  }

  def rule[A](name: String)(body: => A): A = if (!isOn) body else {
    val above = rules.get()
    rules.set(name.split('.').last.stripSuffix("$") :: above)
    try measured(0, "", rules.get().reverse)(body) finally rules.set(above)
  }

  /** Asks a question, with its number and what asks it. */
  def question(op: String, text: String)(ask: String => String): String = if (!isOn) ask(text) else {
    val (number, path) = (numbers.incrementAndGet(), rules.get().reverse match {
      case Nil => List(caller)
      case some => some
    })
    val trace = JObject("number" -> JInt(number), "path" -> JArray(path.map(JString(_))))
    measured(number, op, path)(ask(s"""${text.dropRight(1)},"trace":${compact(trace)}}"""))
  }

  private def measured[A](number: Long, op: String, path: Seq[String])(body: => A): A = {
    val (wall, processor) = (System.nanoTime(), clock.getCurrentThreadCpuTime)
    try body finally {
      val step = TracedStep(number, op, path, System.nanoTime() - wall, clock.getCurrentThreadCpuTime - processor)
      synchronized(if (isOn && steps.length < MaxSteps) steps += step)
    }
  }

  /** The method of ours that Spark has called, as `Class.method`. */
  private def caller: String = walker.walk[String](frames => frames
    .filter(frame => frame.getClassName.startsWith("org.apache.spark.sql.parquetry.") && !below.exists(frame.getClassName.contains(_)))
    .map[String](frame => s"${frame.getClassName.split('.').last.takeWhile(_ != '$')}.${plain(frame.getMethodName)}")
    .findFirst().orElse("Spark"))
  private val below = Seq(".parquetry.protocol.", ".parquetry.table.", ".parquetry.versions.")
  private def plain(method: String): String = method.stripPrefix("$anonfun$").takeWhile(_ != '$')
}

/**
 * The time of a question, or of a rule.
 *
 * @param number of the question, or 0 for a rule
 * @param op     the question's name, or empty for a rule
 * @param path   what asked, or the rule after those that called it
 * @param nanos  elapsed
 * @param cpu    nanoseconds of the processor in this thread, which waits while the planner works
 */
case class TracedStep(number: Long, op: String, path: Seq[String], nanos: Long, cpu: Long)
case class TracedSteps(steps: Seq[TracedStep])
