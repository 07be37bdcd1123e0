"""Limits for all questions of a session, sent once, at the start; the bridge reads `Terms` in
`bridge/protocol/Answers.scala`.

The bridge's rules look at every plan with one of our tables, even if they have nothing to ask about it. So
they cannot wait for an answer to learn a limit.
"""

from __future__ import annotations

import msgspec

from parquetry.joins import LIMITS, SETTINGS, TRANSPARENT_JOINS, Limits
from parquetry.planner.protocol import questions
from parquetry.predicate import settled_functions


class Terms(msgspec.Struct, frozen=True):
    """Constants that the bridge shares with the planner.

    Attributes:
        limits: of the cost model; the bridge applies some of them.
        transparent_joins: types of joins with the side whose rows they pass on, as the judge of runtime
            filters sees them.
        reading: names of the questions that change nothing. The bridge asks them again if the planner's
            process ends.
        join_settings: names of Spark's settings that decide whether joins shuffle.
        functions: names of the functions whose results the planner knows by the ranges of any arguments.
            Spark evaluates others over values that are the same in all rows of a file.
    """

    limits: Limits
    transparent_joins: list[tuple[str, str]]
    reading: list[str]
    join_settings: list[str]
    functions: list[str]


READING: tuple[type[questions.Question], ...] = (
    questions.RewriteStatement, questions.CheckSettings, questions.CountFailedAudit, questions.ExplainJoins,
    questions.ListNamespaces, questions.LoadNamespace,
    questions.ListTables, questions.LoadTable, questions.CanAlter, questions.LoadRelation, questions.LoadRelations,
    questions.ListViews, questions.LoadMetadataTable, questions.ReadMetadataTable,
    questions.CanDelete, questions.LoadPartition, questions.ListPartitions, questions.ShowPartitions, questions.RefuseLoad,
    questions.PushPredicates, questions.PartitionValues, questions.HeavyValues, questions.Aggregate,
    questions.PlanScan, questions.PlanJoins, questions.FileKeyRanges, questions.EstimateScan,
    questions.BeginStream, questions.AdvanceStream, questions.PlanBatch,
    questions.ListProcedures, questions.LoadProcedure, questions.RepairSchema,
    questions.RecordQueries,
)  # fmt: skip
"""Questions that change nothing, however often they are asked."""


def terms() -> str:
    """Return the terms as the bridge reads them."""
    reading = [str(each.__struct_config__.tag) for each in READING]
    return msgspec.json.encode(
        Terms(LIMITS, sorted(TRANSPARENT_JOINS), reading, list(SETTINGS), settled_functions())
    ).decode()
