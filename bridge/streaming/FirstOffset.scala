package org.apache.spark.sql.parquetry.streaming

import java.io.{InputStream, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.parquetry.versions.Kept.MetadataLog

/**
 * Keeps the offset where a stream began in its checkpoint. Spark asks for it more than once, and again if a
 * query that stopped within its first batch is restarted. By then the table may have newer versions, but the
 * end of that batch is fixed.
 */
class FirstOffset(session: SparkSession, path: String) extends MetadataLog[StreamOffset](session, path) {
  override def serialize(offset: StreamOffset, out: OutputStream): Unit = out.write(offset.json.getBytes(UTF_8))
  override def deserialize(in: InputStream): StreamOffset = new StreamOffset(new String(in.readAllBytes(), UTF_8))

  def orElse(asked: => StreamOffset): StreamOffset = get(0).getOrElse {
    val first = asked
    if (add(0, first)) first else get(0).get
  }
}
