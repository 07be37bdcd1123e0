package org.apache.spark.sql.parquetry.runtime

import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, Union}
import org.apache.spark.sql.parquetry.joingraph.SharedScans

/**
 * Makes candidates for scans that Spark reads once for several parts of a query. A filter by the values of
 * one part would make two scans of one. A filter by the values of all parts leaves it one:
 *
 *     sales of the weeks of 2001 beside sales of the weeks of 2002        date IN (days of both years' weeks)
 */
class UnionBuildSides(shared: SharedScans, number: AnyRef => Int) {
  /** @param narrowed the candidates of each scan by itself */
  def of(narrowed: Seq[RuntimeCandidate]): Seq[RuntimeCandidate] = {
    val ofShared = if (narrowed.isEmpty || shared.isEmpty) Nil else narrowed.filter(one => one.keys.length == 1 && one.facts.readOnce)
    ofShared.map(_.source.relation).distinctBy(System.identityHashCode).map(shared.scansAtSamePosition).filter(_.length > 1)
      .distinctBy(scans => scans.map(System.identityHashCode).sorted).flatMap(scans =>
        ofShared.filter(_.source.relation eq scans.head).map(_.column).distinct.flatMap(byAllValues(scans, _, ofShared)))
  }

  /** A candidate for each scan, by the values of all build sides; none if a scan has no build side. */
  private def byAllValues(scans: Seq[LogicalPlan], column: String, candidates: Seq[RuntimeCandidate]): Seq[RuntimeCandidate] = {
    val ofScans = scans.flatMap { scan =>
      val some = candidates.filter(one => (one.source.relation eq scan) && one.column == column)
      some.find(_.facts.narrowed).orElse(some.headOption)
    }
    if (ofScans.length < scans.length || ofScans.map(_.keys.head.dataType).distinct.length > 1) Nil
    else {
      val values = ofScans.map(one => Project(Seq(Alias(one.keys.head, "value")()), one.build): LogicalPlan).distinctBy(_.canonicalized)
      val build = if (values.length == 1) values.head else Union(values)
      val key = build.output.head
      val facts = RuntimeCandidate.ofBuild(build, Seq(key), ofScans.head.facts.build.key, number)
      ofScans.map(one => one.copy(values = ValueSource(build, Seq(key), 0), planTimeValues = None, valuesOf = None).withFacts(one.facts.copy(
        build = facts, narrowed = true, readOnce = false, together = Some(number(build)))))
    }
  }
}
