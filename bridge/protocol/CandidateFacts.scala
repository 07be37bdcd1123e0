package org.apache.spark.sql.parquetry.protocol

import org.json4s._

/**
 * Facts for the planner's verdict on a candidate for a runtime filter: a scan of ours, the probe side, and a
 * join's build side, whose values could prune the scan.
 *
 * The planner decodes them in `joins/runtime/candidates.py`, and says there what each field means.
 */
case class CandidateFacts(
    scan: Int, report: JValue, bytes: Option[Long], column: String, form: String, filterable: Boolean, join: Int, joinType: String,
    side: String, steps: Seq[StepFacts], equality: Boolean, nullAware: Boolean, build: BuildFacts, source: Int, plan: Int,
    tupleColumn: Option[String], narrowed: Boolean, shared: Boolean, outside: Boolean, readOnce: Boolean, known: Option[KnownFacts],
    held: Option[Int], placed: Option[String], together: Option[Int] = None) {
  def json: JObject = CandidateFacts.json(this)
}

/** A node of the plan between a join and a scan. */
case class StepFacts(node: String, side: String, keyed: Boolean, deterministic: Boolean)

/** The build side. */
case class BuildFacts(
    name: String, where: Seq[String], whole: Boolean, key: String, size: Option[BigInt], cost: Option[BigInt], files: Int,
    deterministic: Boolean, python: Boolean, unrepeatable: Option[String], parts: Seq[PartFacts], endsOf: Option[Int] = None)

/** A scan of ours that the build side reads. */
case class PartFacts(scan: Int, bytes: BigInt, files: Int)

/** Plan-time values: values that the metastore has before the query runs. */
case class KnownFacts(count: Int, complete: Boolean, useful: Boolean)

object CandidateFacts {
  def json(of: CandidateFacts): JObject = JObject(List[JField](
    "scan" -> JInt(of.scan),
    "report" -> of.report,
    "bytes" -> number(of.bytes.map(BigInt(_))),
    "column" -> JString(of.column),
    "form" -> JString(of.form),
    "filterable" -> JBool(of.filterable),
    "join" -> JInt(of.join),
    "type" -> JString(of.joinType),
    "side" -> JString(of.side),
    "steps" -> JArray(of.steps.map(step).toList),
    "equality" -> JBool(of.equality),
    "null_aware" -> JBool(of.nullAware),
    "build" -> build(of.build),
    "source" -> JInt(of.source),
    "plan" -> JInt(of.plan),
    "tuple_column" -> text(of.tupleColumn),
    "narrowed" -> JBool(of.narrowed),
    "shared" -> JBool(of.shared),
    "outside" -> JBool(of.outside),
    "read_once" -> JBool(of.readOnce),
    "known" -> of.known.fold[JValue](JNull)(known),
    "held" -> number(of.held.map(BigInt(_))),
    "placed" -> text(of.placed)) ++ of.together.map(scans => "together" -> JInt(scans): JField))

  private def step(of: StepFacts): JObject = JObject(
    "node" -> JString(of.node),
    "side" -> JString(of.side),
    "keyed" -> JBool(of.keyed),
    "deterministic" -> JBool(of.deterministic))

  private def build(of: BuildFacts): JObject = JObject(
    "name" -> JString(of.name),
    "where" -> Json.strings(of.where),
    "whole" -> JBool(of.whole),
    "key" -> JString(of.key),
    "size" -> number(of.size),
    "cost" -> number(of.cost),
    "files" -> JInt(of.files),
    "deterministic" -> JBool(of.deterministic),
    "python" -> JBool(of.python),
    "unrepeatable" -> text(of.unrepeatable),
    "parts" -> JArray(of.parts.map(part).toList),
    "ends_of" -> number(of.endsOf.map(BigInt(_))))

  private def part(of: PartFacts): JObject =
    JObject("scan" -> JInt(of.scan), "bytes" -> JInt(of.bytes), "files" -> JInt(of.files))

  private def known(of: KnownFacts): JObject =
    JObject("count" -> JInt(of.count), "complete" -> JBool(of.complete), "useful" -> JBool(of.useful))

  private def number(value: Option[BigInt]): JValue = value.fold[JValue](JNull)(JInt(_))
  private def text(value: Option[String]): JValue = value.fold[JValue](JNull)(JString(_))
}
