package org.apache.spark.sql.parquetry.suites

import scala.collection.mutable.ArrayBuffer

import org.json4s._
import org.json4s.jackson.JsonMethods.compact
import org.scalatest.{Args, Reporter, Suite}
import org.scalatest.events._

/** Runs a suite and tells how its tests ended, as JSON. */
object Running {
  def run(name: String): String = {
    val ended = ArrayBuffer.empty[JObject]
    def end(test: String, how: String, millis: Option[Long], message: String): Unit = ended.synchronized {
      ended += JObject("test" -> JString(test), "outcome" -> JString(how), "milliseconds" -> JInt(BigInt(millis.getOrElse(0L))),
        "message" -> JString(message))
    }
    val listening = new Reporter {
      override def apply(event: Event): Unit = event match {
        case e: TestSucceeded => end(e.testName, "passed", e.duration, "")
        case e: TestFailed => end(e.testName, "failed", e.duration, told(e.message, e.throwable))
        case e: TestCanceled => end(e.testName, "canceled", e.duration, told(e.message, e.throwable))
        case e: TestIgnored => end(e.testName, "ignored", None, "")
        case e: SuiteAborted => end("", "failed", e.duration, told(e.message, e.throwable))
        case _ =>
      }
    }
    try {
      val made = Class.forName("org.apache.spark.sql.parquetry.suites." + name).getDeclaredConstructor().newInstance()
      made.asInstanceOf[Suite].run(None, Args(listening))
    } catch {
      case error: Throwable => end("", "failed", None, told(String.valueOf(error.getMessage), Some(error)))
    }
    compact(JArray(ended.toList))
  }

  /** A failure's message, and the first lines of the suite's own code that it came from. */
  private def told(message: String, thrown: Option[Throwable]): String = {
    val cause = thrown.map(reached)
    val kind = cause.map(_.getClass.getName).filterNot(message.startsWith).map(_ + ": ").getOrElse("")
    val said = cause.map(c => String.valueOf(c.getMessage)).filter(_ => thrown.exists(_.getCause != null)).getOrElse(message)
    val frames = cause.toSeq.flatMap(_.getStackTrace.toSeq)
    val own = (frames.headOption ++ frames.filter(f => f.getMethodName != "withFixture" && isOfSuites(f)).take(3))
      .map(f => s"  at ${f.getFileName}:${f.getLineNumber}").toSeq.distinct
    (s"$kind$said" +: own).mkString("\n")
  }
  private def isOfSuites(frame: StackTraceElement): Boolean =
    frame.getClassName.startsWith("org.apache.spark.") && frame.getFileName != null &&
      frame.getFileName.matches("\\w+(Suite|SuiteBase|Tests|TestsBase)\\.scala") && !frame.getFileName.startsWith("Spark")
  private def reached(error: Throwable): Throwable = error match {
    case e @ (_: java.lang.reflect.InvocationTargetException | _: ExceptionInInitializerError) if e.getCause != null => reached(e.getCause)
    case e => e
  }
}
