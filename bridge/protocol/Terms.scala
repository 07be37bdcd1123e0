package org.apache.spark.sql.parquetry.protocol

/**
 * What the planner tells once, when it is put into a session, and what holds for all its questions
 * (`planner/protocol/terms.py`). So rules that ask it nothing follow its limits, too, and no query waits for them.
 *
 * @param transparentJoins types of joins, with the side whose rows they pass on without adding values to its columns
 * @param reading          questions that change nothing, which may be asked a second time
 */
case class Terms(limits: Limits, transparentJoins: Set[(String, String)], reading: Set[String])

/** Those limits of the planner's cost model that rules keep to: `prune/runtime/cost_model.py` has their units and reasons. */
case class Limits(
    joinedTables: Int, conditionJoins: Int, planningRounds: Int, nestedFilters: Int, evaluatedRows: Int, cachedBytesRead: Int,
    listedValues: Int, expandedTuples: Int)
