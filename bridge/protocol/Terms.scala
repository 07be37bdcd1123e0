package org.apache.spark.sql.parquetry.protocol

/**
 * Terms that the planner sends once, when a session is attached, and that hold for all questions
 * (`planner/protocol/terms.py`). So rules that ask the planner nothing follow its limits, too, and no query
 * waits for them.
 *
 * @param transparentJoins pairs of a join type and a side: the join passes this side's rows on, and adds no
 *   values to its columns
 * @param reading questions that change nothing, which may be asked a second time
 */
case class Terms(limits: Limits, transparentJoins: Set[(String, String)], reading: Set[String])

/**
 * Limits of the planner's cost model that rules obey; `joins/runtime/cost_model.py` has their units and
 * reasons.
 */
case class Limits(
    joinedTables: Int, conditionJoins: Int, planningRounds: Int, nestedFilters: Int, evaluatedRows: Int, cachedBytesRead: Int,
    listedValues: Int, expandedTuples: Int)
