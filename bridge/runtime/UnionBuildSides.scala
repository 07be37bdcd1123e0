package org.apache.spark.sql.parquetry.runtime

import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, Union}
import org.apache.spark.sql.parquetry.joingraph.SharedScans

/**
 * Makes candidates for scans that Spark reads once for several places of a query. A filter by the values of
 * one place would make two scans of one. A filter by the values of all places leaves it one:
 *
 *     sales of the weeks of 2001 beside sales of the weeks of 2002        date IN (days of both years' weeks)
 */
class UnionBuildSides(once: SharedScans, number: AnyRef => Int) {
  /** @param narrowed the candidates of each place by itself */
  def of(narrowed: Seq[RuntimeCandidate]): Seq[RuntimeCandidate] = {
    val broken = narrowed.filter(one => one.facts.readOnce && one.keys.length == 1)
    broken.map(_.source.relation).distinctBy(System.identityHashCode).map(once.places).filter(_.length > 1)
      .distinctBy(places => places.map(System.identityHashCode).sorted).flatMap(places =>
        broken.filter(_.source.relation eq places.head).map(_.column).distinct.flatMap(together(places, _, broken)))
  }

  private def together(places: Seq[LogicalPlan], column: String, found: Seq[RuntimeCandidate]): Seq[RuntimeCandidate] = {
    val each = places.flatMap { place =>
      val some = found.filter(one => (one.source.relation eq place) && one.column == column)
      some.find(_.facts.narrowed).orElse(some.headOption)
    }
    if (each.length < places.length || each.map(_.keys.head.dataType).distinct.length > 1) Nil
    else {
      val values = each.map(one => Project(Seq(Alias(one.keys.head, "value")()), one.build): LogicalPlan).distinctBy(_.canonicalized)
      val build = if (values.length == 1) values.head else Union(values)
      val key = build.output.head
      val facts = RuntimeCandidate.ofBuild(build, Seq(key), each.head.facts.build.key, number)
      each.map(one => one.copy(build = build, keys = Seq(key), known = None, valuesOf = None, facts = one.facts.copy(
        build = facts, narrowed = true, readOnce = false, together = Some(number(build)))))
    }
  }
}
