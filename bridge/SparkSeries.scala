package org.apache.spark.sql.parquetry

import java.io.File
import java.net.URI

import scala.util.Try

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.parquetry.protocol.BridgeVersion

/**
 * Compares the running Spark with the one that this jar was compiled for. Spark's interfaces differ between
 * series, so a jar of another series would fail later, with an error of Java's that names a class.
 *
 * Nothing here needs a class of one series alone: also the error is Java's.
 */
object SparkSeries {
  private val series = """(\d+\.\d+)\b.*""".r

  private def of(version: String): String = version match {
    case series(found) => found
    case other => other
  }

  /** @throws WrongSeriesException if this jar is for another series; it names the jar to take */
  def require(): Unit = {
    val (running, built) = (of(SPARK_VERSION), of(BridgeVersion.spark))
    if (running != built) throw new WrongSeriesException(
      s"[PARQUETRY_BRIDGE] This is Spark $SPARK_VERSION, and ${own.fold("the jar of Parquetry here")(_.getPath)} is Parquetry's for Spark $built: " +
        (if (!BridgeVersion.series.contains(running)) s"Parquetry ${BridgeVersion.version} works with Spark ${BridgeVersion.series.mkString(", ")} alone, so start one of these."
        else s"put ${beside(running).getOrElse(s"the one for Spark $running")} into spark.jars in its place; `parquetry conf --spark $running` prints all settings."))
  }

  private def own: Option[File] =
    Try(new File(new URI(getClass.getProtectionDomain.getCodeSource.getLocation.toString))).toOption

  /** The jar for a series in the folder of this one: a wheel has them all. */
  private def beside(running: String): Option[String] = for {
    here <- own
    jars <- Option(here.getParentFile.listFiles())
    wanted = s"parquetry-bridge-${BridgeVersion.version}-spark-$running."
    jar <- jars.map(_.getPath).sorted.reverse.find(path => new File(path).getName.startsWith(wanted))
  } yield jar
}

/** Says that the jar is for another series of Spark. */
class WrongSeriesException(message: String) extends RuntimeException(message)
