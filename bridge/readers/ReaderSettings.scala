package org.apache.spark.sql.parquetry.readers

import java.lang.ref.WeakReference

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapred.JobConf
import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.datasources.parquet.{ParquetReadSupport, ParquetWriteSupport}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.hash.OrcTimes
import org.apache.spark.sql.parquetry.versions.ParquetReaders
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.SerializableConfiguration

/**
 * The settings of file systems and formats that are sent to readers. Two thirds of Spark's settings are
 * defaults that YARN and MapReduce ship for themselves. To send them takes longer than to plan a small scan,
 * and readers copy all settings for each file.
 */
object ReaderSettings {
  private lazy val ofOthers: Map[String, String] = {
    val shipped = new Configuration(false)
    Seq("yarn-default.xml", "mapred-default.xml").foreach(shipped.addResource)
    shipped.asScala.map(setting => setting.getKey -> setting.getValue).toMap
  }

  /** The settings of a session, without unchanged defaults of YARN and MapReduce. */
  def fromSession(session: SparkSession): Configuration = {
    val (all, some) = (session.sessionState.newHadoopConf(), new Configuration(false))
    some.setClassLoader(all.getClassLoader)
    all.asScala.filterNot(setting => ofOthers.get(setting.getKey).contains(setting.getValue))
      .foreach(setting => some.set(setting.getKey, setting.getValue))
    some
  }

  /** The sent settings of the last sessions, the last one used first. */
  private var kept = List.empty[SentSettings]
  private val mostKept = 16

  /**
   * The settings of Spark's readers of Parquet, sent to the executors. They are sent once, and serve all
   * scans until a setting changes. `ScanSettings` adds a scan's columns. Spark sends all settings anew for
   * each scan, which takes some milliseconds of the driver.
   */
  def sent(session: SparkSession): Broadcast[SerializableConfiguration] = synchronized {
    val state = SettingsState.of(session)
    val found = kept.find(_.state.isSame(state)).getOrElse {
      val hadoop = fromSession(session)
      OrcTimes.setCalendar(hadoop)
      SentSettings(state, ParquetReaders.settings(session, hadoop))
    }
    kept = (found +: kept.filterNot(_ eq found)).filter(_.state.isOf(session.sparkContext)).take(mostKept)
    found.sent
  }
}

private case class SentSettings(state: SettingsState, sent: Broadcast[SerializableConfiguration])

/**
 * All that the settings of readers depend on.
 *
 * @param ofThread the settings of the thread, which may differ from its session's
 */
private case class SettingsState(
    context: WeakReference[SparkContext], loader: ClassLoader, ofSession: Map[String, String], ofThread: Map[String, String],
    hadoop: java.util.Map[String, String]) {
  def isOf(other: SparkContext): Boolean = context.refersTo(other)
  def isSame(other: SettingsState): Boolean = isOf(other.context.get) && copy(context = other.context) == other
}

private object SettingsState {
  def of(session: SparkSession): SettingsState = {
    val (context, conf) = (session.sparkContext, session.sessionState.conf)
    val ofSession = conf.getAllConfs
    val hadoop = new java.util.HashMap[String, String]
    context.hadoopConfiguration.iterator.forEachRemaining(setting => hadoop.put(setting.getKey, setting.getValue))
    SettingsState(new WeakReference(context), context.hadoopConfiguration.getClassLoader, ofSession,
      if (SQLConf.get eq conf) ofSession else SQLConf.get.getAllConfs, hadoop)
  }
}

/**
 * The settings of the readers of one scan: the settings that all scans share, and the scan's own.
 *
 * Readers copy the settings for each file unless these are a `JobConf`; the copy takes a sixth of the time
 * for a file of some thousand rows. Readers with filters write into their copy, so they must have one.
 *
 * @param own       settings of this scan alone
 * @param isFiltered whether the readers have filters
 */
class ScanSettings(sent: Broadcast[SerializableConfiguration], own: Map[String, String], isFiltered: Boolean)
  extends Broadcast[SerializableConfiguration](sent.id) {
  @transient private lazy val all = {
    val settings = if (isFiltered) new Configuration(sent.value.value) else new JobConf(sent.value.value)
    own.foreach { case (key, value) => settings.set(key, value) }
    new SerializableConfiguration(settings)
  }

  override protected def getValue(): SerializableConfiguration = all
  // all scans use what was sent, so that no scan takes it back
  override protected def doUnpersist(blocking: Boolean): Unit = ()
  override protected def doDestroy(blocking: Boolean): Unit = ()
}

object ScanSettings {
  /**
   * The settings for readers of Parquet.
   *
   * @param read the columns of files to read
   */
  def parquet(session: SparkSession, read: StructType, inAnyCase: Boolean, isFiltered: Boolean): ScanSettings = {
    val columns = read.json
    val own = Map(ParquetReadSupport.SPARK_ROW_REQUESTED_SCHEMA -> columns, ParquetWriteSupport.SPARK_ROW_SCHEMA -> columns)
    val cases = if (inAnyCase) Map(SQLConf.CASE_SENSITIVE.key -> "false") else Map.empty[String, String]
    new ScanSettings(ReaderSettings.sent(session), own ++ cases, isFiltered)
  }
}
