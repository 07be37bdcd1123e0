package org.apache.spark.sql.parquetry.readers

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapred.JobConf
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.util.SerializableConfiguration

/**
 * The settings of file systems and formats that readers are sent. Two thirds of what Spark has in its hands are those that YARN and
 * MapReduce ship for themselves: they take longer to send than a small scan to plan, and readers copy all of them for each file.
 */
object ReaderSettings {
  private lazy val ofOthers: Map[String, String] = {
    val shipped = new Configuration(false)
    Seq("yarn-default.xml", "mapred-default.xml").foreach(shipped.addResource)
    shipped.asScala.map(setting => setting.getKey -> setting.getValue).toMap
  }

  /** Those of a session, but for what YARN and MapReduce ship and nobody has changed. */
  def fromSession(session: SparkSession): Configuration = {
    val (all, some) = (session.sessionState.newHadoopConf(), new Configuration(false))
    some.setClassLoader(all.getClassLoader)
    all.asScala.filterNot(setting => ofOthers.get(setting.getKey).contains(setting.getValue))
      .foreach(setting => some.set(setting.getKey, setting.getValue))
    some
  }
}

/**
 * Has all readers of an executor share one copy of their settings: Spark's make one for each file unless it is of this class, which takes
 * a sixth of the time that a file of some thousand rows needs. Not for readers with conditions, which they write into their copy.
 */
class BroadcastSettings(settings: Broadcast[SerializableConfiguration]) extends BeforeReading {
  override def apply(partition: InputPartition): Unit = {
    val sent = settings.value
    sent.synchronized(if (!sent.value.isInstanceOf[JobConf]) sent.value = new JobConf(sent.value))
  }
}
