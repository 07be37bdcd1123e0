package org.apache.spark.sql.parquetry.table

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.parquetry.protocol.{EstimateAnswer, RowGroupPart, ScanAnswer}

/**
 * A predicate, and how the planner uses it.
 *
 * @param exact whether Spark need not evaluate it on every row
 * @param again whether Spark should offer it once more: it is about partition columns alone, and not
 *   understood
 * @param rowGroups the part that readers may apply to row groups; see `RowGroupFilters`
 * @param condition the predicate as Spark evaluates it, if no condition of the query has it
 */
case class PushedPredicate(
    predicate: Predicate, tree: JValue, exact: Boolean, again: Boolean = false, rowGroups: Option[RowGroupPart] = None,
    condition: Option[Expression] = None)

/**
 * The plan of a scan that came with the answer to its predicates.
 *
 * @param conditions the predicates' trees
 * @param columns that are read
 * @param opensAll whether every file is opened
 * @param estimate of the scan, or None if the question did not want it
 */
case class ForeseenPlan(
    conditions: Seq[JValue], columns: Seq[String], opensAll: Boolean, answer: ScanAnswer, estimate: Option[EstimateAnswer] = None)

/** How the planner uses predicates, and the plan of their scan, if it was foreseen. */
case class JudgedPredicates(predicates: Seq[PushedPredicate], plan: Option[ForeseenPlan])
