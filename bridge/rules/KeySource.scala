package org.apache.spark.sql.parquetry

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap, Expression, PredicateHelper}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * One of our scans that a join key comes from.
 *
 * @param key as it is computed of the scan's columns
 * @param steps from the join down to the scan, each with what tells whether a condition on the key holds below it, too
 */
case class KeySource(relation: DataSourceV2ScanRelation, scan: ParquetryScan, key: Expression, steps: Seq[JObject])

object KeySource extends PredicateHelper {
  /** Follows a key down a plan, wherever it comes from. */
  def of(key: Expression, plan: LogicalPlan, steps: Seq[JObject] = Nil): Seq[KeySource] =
    if (key.references.isEmpty || !key.references.subsetOf(plan.outputSet)) Nil
    else plan match {
      case relation @ DataSourceV2ScanRelation(_, scan: ParquetryScan, _, _, _, _, _) => Seq(KeySource(relation, scan, key, steps))
      case project: Project => of(replaceAlias(key, getAliasMap(project)), project.child, steps :+ step(project))
      case aggregate: Aggregate =>
        val below = replaceAlias(key, getAliasMap(aggregate))
        of(below, aggregate.child, steps :+ step(aggregate, keyed = has(aggregate.groupingExpressions, below)))
      case eval: BaseEvalPython if key.references.exists(eval.resultAttrs.contains) =>
        val functions = AttributeMap(eval.resultAttrs.zip(eval.udfs))
        of(key.transform { case a: Attribute => functions.getOrElse(a, a) }, eval.child, steps :+ step(eval))
      case window: Window => of(key, window.child, steps :+ step(window, keyed = has(window.partitionSpec, key)))
      case limit: WindowGroupLimit => of(key, limit.child, steps :+ step(limit, keyed = has(limit.partitionSpec, key)))
      case union: Union => key match {
        case attribute: Attribute =>
          val place = union.output.indexWhere(_.semanticEquals(attribute))
          union.children.flatMap(child => of(child.output(place), child, steps :+ step(union)))
        case _ => Nil
      }
      case join: Join =>
        of(key, join.left, steps :+ step(join, side = "left")) ++ of(key, join.right, steps :+ step(join, side = "right"))
      case other => other.children.flatMap(child => of(key, child, steps :+ step(other)))
    }

  private def has(keys: Seq[Expression], key: Expression): Boolean = keys.exists(_.semanticEquals(key))

  private def step(plan: LogicalPlan, keyed: Boolean = false, side: String = ""): JObject = JObject(
    "node" -> JString(plan match {
      case join: Join => LogicalNames.of(join.joinType)
      case other => other.nodeName
    }),
    "side" -> JString(side),
    "keyed" -> JBool(keyed),
    "deterministic" -> JBool(plan.expressions.forall(_.deterministic)))
}
