"""The question that brings queries which have run, for the history of queries."""

from __future__ import annotations

from typing import Any

import msgspec

from parquetry.planner.protocol.questions.base import CatalogQuestion, TableRef


class ScanThatRan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scan of a table by a query that has run.

    Attributes:
        table: the version that was read.
        outcome: as `report_facts.ScanOutcome`.
        asked: the query's conditions that Spark offered, as trees.
        columns: that the scan reads.
        given: the rows that it gave, or None.
    """

    table: TableRef
    outcome: dict[str, Any]
    asked: list[dict[str, Any]]
    columns: list[str]
    given: int | None


class QueryThatRan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A query that has run.

    Attributes:
        time: when it ended, in milliseconds since 1970.
        milliseconds: its duration.
        door: how it came.
        user: who asked, or None if that is not known.
        statement: its SQL, or None for a DataFrame.
        shuffles: the exchanges of its plan.
        settings: the session's setting of the history, if it has one.
        scans: of the question's catalog.
        joins: all joins, as `joins.JoinFacts`.
    """

    time: int
    milliseconds: int
    door: str
    user: str | None
    statement: str | None
    shuffles: int
    settings: dict[str, str]
    scans: list[ScanThatRan]
    joins: list[dict[str, Any]]


class RecordQueries(CatalogQuestion, tag="record_queries", frozen=True, kw_only=True):
    """Answer: `Done`. Queries have run; those whose tables keep a history go into it."""

    queries: list[QueryThatRan]
