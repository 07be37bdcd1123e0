"""`CALL system.history`; the metadata table `history` has the same rows."""

from __future__ import annotations

import json
from collections.abc import Iterator

from parquetry.metastore import TableSnapshot, history
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Arguments, Procedure, Row


def history_rows(snapshot: TableSnapshot, first: int = 0, last: int | None = None) -> Iterator[Row]:
    """Yield a row for each version up to this one that can be read, newest first; see `history`."""
    for commit in history(snapshot, first, last):
        totals = commit.totals
        summary = json.dumps(commit.summary, ensure_ascii=False) if commit.summary else None
        yield (
            commit.version,
            commit.time * 1000,
            commit.operation,
            totals.partitions,
            totals.files,
            totals.rows,
            totals.bytes,
            summary,
        )


def _run(lake: Lake, arguments: Arguments) -> Iterator[Row]:
    return history_rows(lake.find(arguments.table))


HISTORY = Procedure(
    "history",
    "Lists the versions of a table that can be read, newest first.",
    Arguments,
    (
        ("version", "long"),
        ("committed_at", "timestamp"),
        ("operation", "string"),
        ("partitions", "long"),
        ("files", "long"),
        ("rows", "long"),
        ("bytes", "long"),
        ("summary", "string"),
    ),
    _run,
)
