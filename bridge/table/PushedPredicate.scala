package org.apache.spark.sql.parquetry.table

import org.json4s._

import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.parquetry.protocol.RowGroupPart

/**
 * A predicate, and how the planner uses it.
 *
 * @param exact whether Spark need not evaluate it on every row
 * @param again whether Spark should offer it once more: it is about partition columns alone, and not
 *   understood
 * @param rowGroups the part that readers may apply to row groups; see `RowGroupFilters`
 */
case class PushedPredicate(
    predicate: Predicate, tree: JValue, exact: Boolean, again: Boolean = false, rowGroups: Option[RowGroupPart] = None)
