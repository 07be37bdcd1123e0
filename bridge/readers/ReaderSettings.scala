package org.apache.spark.sql.parquetry.readers

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapred.JobConf
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.InputPartition
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
}

/**
 * Has all readers of an executor share one copy of their settings. Spark's readers copy the settings for each
 * file unless these are a `JobConf`; the copy takes a sixth of the time for a file of some thousand rows. It
 * is not for readers with filters, which they write into their copy.
 */
class BroadcastSettings(settings: Broadcast[SerializableConfiguration]) extends BeforeReading {
  override def apply(partition: InputPartition): Unit = {
    val sent = settings.value
    sent.synchronized(if (!sent.value.isInstanceOf[JobConf]) sent.value = new JobConf(sent.value))
  }
}
