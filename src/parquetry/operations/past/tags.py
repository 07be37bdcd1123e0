"""`tag`, `drop_tag` and `tags`: names for versions of a table, which keep them from vacuum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

from parquetry import metastore as ms
from parquetry.errors import UnsupportedError
from parquetry.operations.operation import Context, Option, Presentation, TableName, Timestamp, operation


class TableTag(NamedTuple):
    """A tag of a version. `type` is TAG, as in Iceberg's table `refs`."""

    name: str
    type: str
    version: int
    created_at: Timestamp


def table_tags(snapshot: ms.TableSnapshot) -> Iterator[TableTag]:
    """Yield the tags of a table, by name."""
    return map(_row, ms.tags_of(snapshot))


def _row(tag: ms.TaggedVersion) -> TableTag:
    return TableTag(tag.name, "TAG", tag.version, Timestamp(tag.created_at * 1000))


_TABLE = {"name": "tag", "version": "version", "created_at": "created at (UTC)"}


@operation(
    "Lists the tags of a table's versions.",
    command=Presentation("Look at tables", "tags sales.orders", _TABLE, empty="no tags"),
)
def tags(context: Context, table: TableName) -> Iterator[TableTag]:
    """List the tags of a table's versions.

    VERSION AS OF reads a version by its tag. The metadata table `refs` has the same rows.
    """
    return table_tags(context.find(table))


TagName = Annotated[
    str, "The tag, such as end-of-year.", Option("The tag, such as end-of-year.", "TAG", positional=True)
]


def _misuse(arguments: Mapping[str, Any]) -> str | None:
    if arguments["version"] is not None and arguments["timestamp"] is not None:
        return "Give a version or --timestamp, or neither for the newest version."
    return None


@operation(
    "Gives a version of a table a tag: it is read by this name, and kept by vacuum until the tag is dropped.",
    changes=True,
    command=Presentation(
        "Maintain a table",
        "tag sales.orders end-of-year 17",
        sentence=lambda _, made, arguments: f"{arguments['name']} is now a tag of version {made[0].version}.",
        misuse=_misuse,
    ),
)
def tag(
    context: Context,
    table: TableName,
    name: TagName,
    version: Annotated[
        int | None,
        "The version; the default is the newest.",
        Option("The version; the default is the newest.", "VERSION", positional=True),
    ] = None,
    timestamp: Annotated[
        Timestamp | None,
        "Instead of version: the version that TIMESTAMP AS OF this time reads.",
        Option(
            "Instead of VERSION: the newest version made until this time, such as 2026-03-01T00:00:00+00:00, or "
            "2026-03-01 in this machine's time zone.",
            "TIME",
        ),
    ] = None,
    replace: Annotated[bool, "Whether a tag of this name may be taken from another version."] = False,
) -> list[TableTag]:
    """Give a version of a table a tag.

    It is read by this name, and vacuum keeps it, and all later versions, until the tag is dropped.
    """
    current = context.find(table)
    if version is not None and timestamp is not None:
        raise UnsupportedError(
            f"Tag {name!r} of table {current.label} has version and timestamp: give one of them."
        )
    if timestamp is not None:
        version = context.metastore.table(current.database, current.name, as_of=timestamp // 1000).version
    made = ms.set_tag(current, name, current.version if version is None else version, replace=replace)
    return [_row(made)]


@operation(
    "Drops a tag: the next vacuum may take its version.",
    changes=True,
    command=Presentation(
        "Maintain a table",
        "drop-tag sales.orders end-of-year",
        sentence=lambda _, dropped, __: (
            f"Version {dropped[0].version} has the tag {dropped[0].name} no longer."
        ),
    ),
)
def drop_tag(context: Context, table: TableName, name: TagName) -> list[TableTag]:
    """Drop a tag.

    Its version stays until a vacuum takes it.
    """
    return [_row(ms.drop_tag(context.find(table), name))]
