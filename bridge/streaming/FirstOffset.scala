package org.apache.spark.sql.parquetry.streaming

import java.io.{InputStream, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.HDFSMetadataLog

/**
 * Where a stream began, in its checkpoint. Spark asks for it more than once, and again when a query is started anew that died in its first
 * batch: the table may have gone on since, and the end of that batch stays.
 */
class FirstOffset(session: SparkSession, path: String) extends HDFSMetadataLog[StreamOffset](session, path) {
  override def serialize(offset: StreamOffset, out: OutputStream): Unit = out.write(offset.json.getBytes(UTF_8))
  override def deserialize(in: InputStream): StreamOffset = new StreamOffset(new String(in.readAllBytes(), UTF_8))

  def orElse(asked: => StreamOffset): StreamOffset = get(0).getOrElse {
    val first = asked
    if (add(0, first)) first else get(0).get
  }
}
