package org.apache.spark.sql.parquetry.catalog

import org.json4s._

import org.apache.spark.SPARK_VERSION_SHORT
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.parquetry.protocol.{BridgeVersion, Json}

/**
 * The catalogs of a session, and the current one, which bare names belong to: so the planner knows whose a
 * table is. An older Spark adds its version, so that the planner knows what it lacks.
 */
object Catalogs {
  private val ours = "org.apache.spark.sql.parquetry.ParquetryCatalog" // as configurations name it
  private val setting = "spark\\.sql\\.catalog\\.([^.]+)".r

  def fields(session: SparkSession): Seq[JField] = {
    val configured = session.sessionState.conf.getAllConfs.toSeq.collect { case (setting(name), c) => (name, c) }.sorted
    val (planned, others) = configured.partition(_._2 == ours)
    val current = session.sessionState.catalogManager
    Seq("catalogs" -> Json.strings(planned.map(_._1)), "other_catalogs" -> Json.strings(others.map(_._1)),
      "current_catalog" -> JString(current.currentCatalog.name()),
      "current_namespace" -> Json.strings(current.currentNamespace)) ++
      Option.when(BridgeVersion.lacking.nonEmpty)("spark" -> JString(SPARK_VERSION_SHORT))
  }
}
