"""Check whether a stream can go on with the columns that its query began with.

The stream ignores columns that were added since, and finds renamed columns by their names in the files. When
the query starts again, it takes the table's new columns.
"""

from __future__ import annotations

from typing import Any

from parquetry.data_files import physical_name
from parquetry.errors import StreamError
from parquetry.metastore import TableSnapshot


def require_same_columns(name: str, begun: TableSnapshot, now: TableSnapshot) -> None:
    """Make sure that files of a later version can be read as the columns of an earlier one.

    Args:
        name: of the table.
        begun: the version that the query began with.
        now: a version.

    Raises:
        StreamError: a column was dropped, or has another type.
    """
    if now.commit.metadata == begun.commit.metadata or now.version < begun.version:
        return
    there = {column.physical: column for column in now.metadata.columns}
    for column in begun.metadata.columns:
        found = there.get(column.physical)
        if found is None:
            raise _changed(name, column.name, "was dropped", now)
        if not _holds(found.type, column.type):
            raise _changed(name, column.name, "has another type", now)


def _changed(name: str, column: str, what: str, now: TableSnapshot) -> StreamError:
    return StreamError(
        f"Column {column} of table {name}, which the stream reads, {what} as of version {now.version}: start the query again from the same "
        "checkpoint, and it goes on with the columns as they are now."
    )


def _holds(now: Any, before: Any) -> bool:
    """Return whether a type, in Spark's JSON, has all parts of an earlier one; structs may grow."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return bool(now == before)
    if before.get("type") != now.get("type"):
        return False
    if before["type"] == "struct":
        there = {physical_name(field): field["type"] for field in now["fields"]}
        return all(
            physical_name(field) in there and _holds(there[physical_name(field)], field["type"])
            for field in before["fields"]
        )
    parts = ("elementType", "keyType", "valueType")
    return all(_holds(now.get(part), before.get(part)) for part in parts)
