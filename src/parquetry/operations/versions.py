"""`history` and `rollback`: the versions of a table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

from parquetry import metastore as ms
from parquetry.operations.operation import Context, Option, Presentation, TableName, Timestamp, operation


class ReadableVersion(NamedTuple):
    """A version of a table, with what the table held then. `summary` is JSON."""

    version: int
    committed_at: Timestamp
    operation: str
    partitions: int
    files: int
    rows: int | None
    bytes: int
    summary: str | None


def readable_versions(
    snapshot: ms.TableSnapshot, first: int = 0, last: int | None = None
) -> Iterator[ReadableVersion]:
    """Yield each version up to this one that can be read, newest first; see `metastore.history`."""
    for commit in ms.history(snapshot, first, last):
        totals, summary = commit.totals, commit.summary
        yield ReadableVersion(
            commit.version,
            Timestamp(commit.time * 1000),
            commit.operation,
            totals.partitions,
            totals.files,
            totals.rows,
            totals.bytes,
            json.dumps(summary, ensure_ascii=False) if summary else None,
        )


@operation("Lists the versions of a table that can be read, newest first.")
def history(context: Context, table: TableName) -> Iterator[ReadableVersion]:
    """List the versions of a table; the metadata table `history` has the same rows."""
    return readable_versions(context.find(table))


class RolledBack(NamedTuple):
    """The versions before a rollback and after it. They are the same if there was nothing to do."""

    version_before: int
    version: int


def _sentence(context: Context, records: list[RolledBack], arguments: Mapping[str, Any]) -> str:
    ((before, after),) = records
    name, version = context.full_name(context.find(arguments["table"])), arguments["version"]
    if after == before:
        return f"{name} is what it was in version {version}: nothing to do."
    return f"{name} is again what it was in version {version}, as version {after}."


@operation(
    "Makes a table what it was in an earlier version, as a new version.",
    changes=True,
    command=Presentation("Maintain a table", "rollback sales.orders 17", sentence=_sentence),
)
def rollback(
    context: Context,
    table: TableName,
    version: Annotated[
        int,
        "The version to go back to.",
        Option("One of those that `history` lists.", "VERSION", positional=True),
    ],
) -> list[RolledBack]:
    """Make a table what it was in an earlier version.

    This is a new version, so it can be undone by another rollback.
    """
    current = context.find(table)
    target = context.metastore.table(current.database, current.name, version=version)
    return [RolledBack(current.version, context.cache(ms.rollback(current, target)).version)]
