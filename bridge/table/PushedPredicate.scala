package org.apache.spark.sql.parquetry.table

import org.json4s._

import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.parquetry.protocol.RowGroupPart

/**
 * A predicate as the planner was told it.
 *
 * @param exact whether Spark need not evaluate it on every row
 * @param again whether it is about partition columns alone and was not understood: Spark offers it once more
 * @param rowGroups what of it the readers may use on row groups; see `RowGroupFilters`
 */
case class PushedPredicate(
    predicate: Predicate, tree: JValue, exact: Boolean, again: Boolean = false, rowGroups: Option[RowGroupPart] = None)
