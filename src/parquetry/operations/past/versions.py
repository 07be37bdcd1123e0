"""`history` and `rollback`: the versions of a table; `detail`: one row about it.

The columns of `detail` have the names that Delta's DESCRIBE DETAIL has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

from parquetry import metastore as ms
from parquetry.errors import UnsupportedError
from parquetry.operations.operation import Context, Option, Presentation, TableName, Timestamp, operation


class ReadableVersion(NamedTuple):
    """A version of a table: what it held then, what its commit changed, and who made it by what.

    `summary` is JSON. The fields behind it are None in versions that older libraries made.
    """

    version: int
    committed_at: Timestamp
    operation: str
    partitions: int
    files: int
    rows: int | None
    bytes: int
    summary: str | None
    rows_added: int | None = None
    rows_removed: int | None = None
    files_added: int | None = None
    files_removed: int | None = None
    bytes_added: int | None = None
    bytes_removed: int | None = None
    partitions_added: int | None = None
    partitions_removed: int | None = None
    partitions_replaced: int | None = None
    user_name: str | None = None
    door: str | None = None
    application_id: str | None = None
    application_name: str | None = None
    statement: str | None = None


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
            **_counts(commit.changes),
            **_author(commit.author),
        )


_COUNTS = (
    *("rows_added", "rows_removed", "files_added", "files_removed", "bytes_added", "bytes_removed"),
    *("partitions_added", "partitions_removed", "partitions_replaced"),
)


def _counts(changes: ms.ChangeCounts | None) -> dict[str, Any]:
    """Return the counts of a version by their fields, if it has any."""
    return {} if changes is None else {name: getattr(changes, name) for name in _COUNTS}


def _author(author: ms.Author) -> dict[str, Any]:
    """Return the author of a version by the fields."""
    return {
        "user_name": author.user,
        "door": author.door,
        "application_id": author.application,
        "application_name": author.application_name,
        "statement": author.statement,
    }


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
    then = "then" if version is None else f"in version {version}"
    if after == before:
        return f"{name} is what it was {then}: nothing to do."
    return f"{name} is again what it was {then}, as version {after}."


def _misuse(arguments: Mapping[str, Any]) -> str | None:
    if sum(arguments[name] is not None for name in _TARGETS) != 1:
        return "Give a version, --timestamp or --tag: parquetry history and tags list them."
    return None


_TARGETS = ("version", "timestamp", "tag")
"""The arguments of `rollback` that say where to, each by itself."""


@operation(
    "Makes a table what it was in an earlier version, or at an earlier time, as a new version.",
    changes=True,
    command=Presentation("Maintain a table", "rollback sales.orders 17", sentence=_sentence, misuse=_misuse),
)
def rollback(
    context: Context,
    table: TableName,
    version: Annotated[
        int | None,
        "The version to go back to.",
        Option("One of those that `history` lists.", "VERSION", positional=True),
    ] = None,
    timestamp: Annotated[
        Timestamp | None,
        "Instead of version: go back to what TIMESTAMP AS OF this time reads.",
        Option(
            "Instead of VERSION: go back to the newest version made until this time, such as "
            "2026-03-01T00:00:00+00:00, or 2026-03-01 in this machine's time zone.",
            "TIME",
        ),
    ] = None,
    tag: Annotated[
        str | None,
        "Instead of version: go back to the version with this tag.",
        Option("Instead of VERSION: go back to the version with this tag.", "TAG"),
    ] = None,
) -> list[RolledBack]:
    """Make a table what it was in an earlier version.

    A time or a tag says which version, too. This is a new version, so it can be undone by another rollback.
    """
    current = context.find(table)
    if sum(each is not None for each in (version, timestamp, tag)) != 1:
        raise UnsupportedError(
            f"Rollback of table {current.label} needs either version, timestamp or tag: give one of them."
        )
    as_of = None if timestamp is None else timestamp // 1000
    named = version if tag is None else tag
    target = context.metastore.table(current.database, current.name, version=named, as_of=as_of)
    return [RolledBack(current.version, context.cache(ms.rollback(current, target)).version)]


class TableRolledBack(NamedTuple):
    """A table of an undone transaction: its newest versions before and after. The same: nothing was to do."""

    table: str
    version_before: int
    version: int


@operation(
    "Undoes a transaction: each of its tables gets a version without what it changed, all in one commit.",
    changes=True,
    command=Presentation(
        "Maintain a table",
        "rollback-transaction 5d1c8e0f9a7b6c34",
        {"table": "table", "version_before": "version before", "version": "version"},
    ),
)
def rollback_transaction(
    context: Context,
    transaction: Annotated[
        str,
        "The transaction's id, which begin() has returned and history shows in summary.",
        Option(
            "The transaction's id, as `history --json` has it in summary.", "TRANSACTION", positional=True
        ),
    ],
) -> list[TableRolledBack]:
    """Undo a transaction in all of its tables.

    Changes of other commits stay. An error says so if one has changed the same partitions since.
    """
    return [
        TableRolledBack(context.full_name(undone.after), undone.before.version, undone.after.version)
        for undone in ms.undo_transaction(context.metastore, transaction)
        if context.cache(undone.after)
    ]


class TableDetail(NamedTuple):
    """A table as it is now. `properties` is JSON; `partitionColumns` are separated by commas."""

    format: str
    id: str
    name: str
    description: str | None
    location: str
    createdAt: Timestamp  # noqa: N815 - Delta's own names, which programs take from the row
    lastModified: Timestamp  # noqa: N815
    partitionColumns: tuple[str, ...]  # noqa: N815
    numFiles: int  # noqa: N815
    sizeInBytes: int  # noqa: N815
    properties: str


@operation(
    "Returns one row about a table, as Delta's DESCRIBE DETAIL does.",
    command=Presentation(
        "Look at tables",
        "detail sales.orders --json",
        {"name": "table", "format": "format", "numFiles": "files", "sizeInBytes": "bytes", "partitionColumns": "partition columns", "location": "location", "id": "id", "description": "comment", "properties": "properties"},
    ),
)  # fmt: skip
def detail(context: Context, table: TableName) -> list[TableDetail]:
    """Describe a table in one row.

    `parquetry describe` shows columns, too.
    """
    snapshot = context.find(table)
    metadata, totals = snapshot.metadata, snapshot.totals
    return [
        TableDetail(
            format=metadata.format,
            id=snapshot.id.hex(),
            name=context.full_name(snapshot),
            description=metadata.comment,
            location=metadata.location,
            createdAt=Timestamp(metadata.created_at * 1000),
            lastModified=Timestamp(snapshot.commit.time * 1000),
            partitionColumns=metadata.partition_by,
            numFiles=totals.files,
            sizeInBytes=totals.bytes,
            properties=json.dumps(metadata.properties, ensure_ascii=False),
        )
    ]
