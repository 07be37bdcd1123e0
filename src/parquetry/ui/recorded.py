"""The queries and the advice that the page shows: where they come from, and how JSON has them.

A warehouse may keep a history of its queries, and an adviser may read it. `Sources` names both. Without them
the page names the setting that begins a history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from parquetry.metastore import Metastore
from parquetry.workload import QueryRecord

NOT_KEPT = "Queries of this warehouse are not kept: set pruning-history = on, for a session, a table or the warehouse."
NO_ADVICE = "There is no advice: it needs the history of queries (pruning-history = on)."
MAX_QUERIES = 500
"""Queries of an answer, at most."""


class LayoutAdvice(msgspec.Struct, frozen=True):
    """A layout, and what the recorded queries of a table would read under it.

    Attributes:
        layout: in words, such as ``sort by customer``.
        verdict: ``advised``, ``as it is``, ``equal`` or ``other``.
        bytes_now: that a query reads on average; None if nothing tells.
        bytes: that it would read.
        spread: how many bytes the forecast may be off.
        rewrite_bytes: bytes to write anew, once.
        pays_after: queries after which that has paid; None if it never does.
        statement: what to type; empty for the present layout.
        detail: what gets worse, and what else is to be known.
    """

    layout: str
    verdict: str
    bytes_now: int | None = None
    bytes: int | None = None
    spread: int | None = None
    rewrite_bytes: int | None = None
    pays_after: int | None = None
    statement: str = ""
    detail: str = ""


Recorded = Callable[[Metastore, str | None, int], Sequence[QueryRecord] | None]
"""Returns the last queries of a table, or of the warehouse if it is None, the newest first, so many at most.

None means that no queries are kept.
"""
Adviser = Callable[[Metastore, str], Sequence[LayoutAdvice] | None]
"""Returns the layouts for a table, the best first, or None if there is no history to advise by.

It may read rows of the table, so the page asks only when somebody presses a button.
"""
Promises = Callable[[Metastore, str], Sequence[str]]
"""Returns what layouts of a table have promised, beside what queries have read since, in sentences."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where recorded queries and advice come from; None where there is nothing of the kind."""

    queries: Recorded | None = None
    adviser: Adviser | None = None
    promises: Promises | None = None


def queries_answer(sources: Sources, metastore: Metastore, table: str | None) -> dict[str, Any]:
    """Return recorded queries as JSON has them, or why there are none."""
    records = None if sources.queries is None else sources.queries(metastore, table, MAX_QUERIES)
    if records is None:
        return {"kept": False, "message": NOT_KEPT, "rows": [], "promises": []}
    promises = [] if sources.promises is None or table is None else sources.promises(metastore, table)
    return {"kept": True, "message": "", "rows": _builtins(records), "promises": list(promises)}


def advice_answer(sources: Sources, metastore: Metastore, table: str, *, now: bool) -> dict[str, Any]:
    """Return advice as JSON has it, or why there is none.

    Args:
        sources: that have the adviser.
        metastore: of the warehouse.
        table: its full name.
        now: whether the adviser may read rows now. If not, only its presence is reported.
    """
    if sources.adviser is not None and not now:
        return {"kept": True, "made": False, "message": "", "rows": []}
    advice = None if sources.adviser is None else sources.adviser(metastore, table)
    if advice is None:
        return {"kept": False, "made": False, "message": NO_ADVICE, "rows": []}
    return {"kept": True, "made": True, "message": "", "rows": _builtins(advice)}


def _builtins(value: Any) -> Any:
    """Return records as dicts, with all of their fields: `to_builtins` leaves out defaults."""
    if isinstance(value, msgspec.Struct):
        return {name: _builtins(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, list | tuple):
        return [_builtins(each) for each in value]
    return value
