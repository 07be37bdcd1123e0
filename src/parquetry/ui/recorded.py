"""The queries and the advice that the page shows: where they come from, and how JSON has them.

A warehouse may keep a history of its queries, and an adviser may read it. `Sources` names both. Without a
history the page names the setting that begins one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from parquetry.metastore import Metastore
from parquetry.workload import QueryRecord

NOT_KEPT = "Queries of this warehouse are not kept: set pruning-history = on, for a session, a table or the warehouse."
NO_ADVICE = "There is no advice: it needs the history of queries (pruning-history = on)."
MAX_QUERIES = 500
"""Queries of an answer, at most."""


class Advice(msgspec.Struct, frozen=True):
    """One thing that would make the queries of a table read less.

    Attributes:
        title: the layout in words, such as ``sort by customer``.
        detail: what it gains, and what gets worse.
        now: bytes that the queries read now, or None if nothing tells.
        then: bytes that they would read.
        rewrite: bytes to rewrite for it.
        statement: what to type; empty if the table is as good as it is.
    """

    title: str
    detail: str = ""
    now: int | None = None
    then: int | None = None
    rewrite: int | None = None
    statement: str = ""


def _nothing_kept(_metastore: Metastore, _table: str | None, _limit: int) -> Sequence[QueryRecord] | None:
    return None


def _no_advice(_metastore: Metastore, _table: str) -> Sequence[Advice] | None:
    return None


@dataclass(frozen=True, slots=True)
class Sources:
    """Where recorded queries and advice come from.

    Attributes:
        queries: returns the last queries of a table, or of the warehouse, the newest first; None if none are
            kept. It is called with the metastore, the table or None, and how many at most.
        advice: returns the advice for a table; None if there is no history to advise by.
    """

    queries: Callable[[Metastore, str | None, int], Sequence[QueryRecord] | None] = _nothing_kept
    advice: Callable[[Metastore, str], Sequence[Advice] | None] = _no_advice


def queries_answer(records: Iterable[QueryRecord] | None) -> dict[str, Any]:
    """Return recorded queries as JSON has them, or why there are none."""
    if records is None:
        return {"kept": False, "message": NOT_KEPT, "rows": []}
    return {"kept": True, "message": "", "rows": [msgspec.to_builtins(record) for record in records]}


def advice_answer(advice: Iterable[Advice] | None) -> dict[str, Any]:
    """Return advice as JSON has it, or why there is none."""
    if advice is None:
        return {"kept": False, "message": NO_ADVICE, "rows": []}
    return {"kept": True, "message": "", "rows": [msgspec.to_builtins(each) for each in advice]}
