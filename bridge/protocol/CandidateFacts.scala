package org.apache.spark.sql.parquetry.protocol

import org.json4s._

/**
 * Facts for the planner's verdict on a candidate for a runtime filter: a scan of ours, the probe side, and a
 * join's build side, whose values could prune the scan.
 *
 * The planner decodes them in `joins/runtime/candidates.py`, and says there what each field means.
 */
case class CandidateFacts(
    scan: Int, report: JValue, bytes: Option[Long], column: String, form: String, filterable: Boolean, join: Int, `type`: String,
    side: String, steps: Seq[StepFacts], equality: Boolean, nullAware: Boolean, build: BuildFacts, source: Int, plan: Int,
    tupleColumn: Option[String], narrowed: Boolean, shared: Boolean, outside: Boolean, readOnce: Boolean, known: Option[KnownFacts],
    held: Option[Int], placed: Option[String], together: Option[Int] = None) {
  /** The report is JSON as it is: to encode it would take longer than all the rest. */
  def json: JObject = JObject(Codec.encode(copy(report = JNull)).obj.map {
    case ("report", _) => "report" -> report
    case other => other
  })
  /** The same as text, for the verdict alone, which needs only the numbers of the scan's report. */
  def brief: String = Codec.text(copy(report = JObject("table" -> report \ "table", "steps" -> JArray((report \ "steps").children.map(step =>
    JObject("name" -> step \ "name", "kept" -> step \ "kept", "of" -> step \ "of"))))))
}

/** A node of the plan between a join and a scan. */
case class StepFacts(node: String, side: String, keyed: Boolean, deterministic: Boolean)

/** The build side. */
case class BuildFacts(
    name: String, where: Seq[String], whole: Boolean, key: String, size: Option[BigInt], cost: Option[BigInt], files: Int,
    deterministic: Boolean, python: Boolean, unrepeatable: Option[String], parts: Seq[PartFacts], endsOf: Option[Int] = None)

/** Facts for the planner's decision on heavy keys of a join; `joins/plan/skew_joins.py` decodes them. */
case class SkewFacts(
    `type`: String, side: String, own: BuildFacts, other: BuildFacts, bytes: BigInt, broadcast: Boolean, hinted: Boolean, bucketed: Boolean)

/** A scan of ours that the build side reads. */
case class PartFacts(scan: Int, bytes: BigInt, files: Int)

/** Plan-time values: values that the metastore has before the query runs. */
case class KnownFacts(count: Int, complete: Boolean, useful: Boolean)
