"""Make, drop and rebuild an index over partition columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from parquetry import metastore as ms
from parquetry.errors import UnsupportedError
from parquetry.operations.operation import Context, Option, Presentation, TableName, operation
from parquetry.progress import progress_bar

_Columns = Annotated[
    list[str | None] | None, "Its columns, or", Option("The index's columns, instead of its name.", "A,B")
]
_Name = Annotated[str | None, "its name.", Option("Its name.", "INDEX", positional=True)]


class TableIndex(NamedTuple):
    """An index that the table has afterwards, and the table's version."""

    name: str
    columns: tuple[str, ...]
    version: int


def _no_indexes(context: Context, indexes: list[TableIndex], arguments: Mapping[str, Any]) -> str | None:
    if indexes:
        return None
    return f"{context.full_name(context.find(arguments['table']))} has no indexes."


def _choice(arguments: Mapping[str, Any]) -> str | None:
    if (arguments["name"] is None) != (arguments["columns"] is None):
        return None
    return "Say which index: either its name, or its --columns."


_TABLE = {"name": "index", "columns": "columns"}


@operation(
    "Makes an index over partition columns, for filters that skip the first.",
    changes=True,
    command=Presentation(
        "Indexes", "create-partition-index sales.orders region hour", _TABLE, sentence=_no_indexes
    ),
)
def create_partition_index(
    context: Context,
    table: TableName,
    columns: Annotated[
        list[str | None],
        "Partition columns; the index is sorted by the first one first.",
        Option(metavar="COLUMN…", positional=True),
    ],
    name: Annotated[
        str | None,
        "Its name; the default is made of its columns.",
        Option("The default is made of its columns.", "NAME"),
    ] = None,
) -> list[TableIndex]:
    """Make an index over partition columns.

    It is for filters that skip the first column.
    """
    before = context.find(table)
    with progress_bar() as progress:
        return _indexes(context, ms.create_index(before, _require_names(columns), name, progress))


@operation(
    "Drops an index over partition columns.",
    changes=True,
    command=Presentation(
        "Indexes",
        "drop-partition-index sales.orders region_hour",
        _TABLE,
        sentence=_no_indexes,
        misuse=_choice,
    ),
)
def drop_partition_index(
    context: Context, table: TableName, columns: _Columns = None, name: _Name = None
) -> list[TableIndex]:
    """Drop an index over partition columns."""
    return _indexes(context, ms.drop_index(context.find(table), _index(columns, name)))


@operation(
    "Builds an index over partition columns again, while queries use the old one.",
    changes=True,
    command=Presentation(
        "Indexes",
        "rebuild-partition-index sales.orders shop",
        _TABLE,
        sentence=_no_indexes,
        misuse=_choice,
    ),
)
def rebuild_partition_index(
    context: Context, table: TableName, columns: _Columns = None, name: _Name = None
) -> list[TableIndex]:
    """Build an index over partition columns again.

    Meanwhile, queries use the old one.
    """
    before = context.find(table)
    with progress_bar() as progress:
        return _indexes(context, ms.rebuild_index(before, _index(columns, name), progress))


def _index(columns: Sequence[str | None] | None, name: str | None) -> str | list[str]:
    """Return the name of an index, or its columns.

    Raises:
        UnsupportedError: both are given, or neither.
    """
    if (columns is None) == (name is None):
        raise UnsupportedError(
            "Say which index: either by its columns, as array('region'), or by its name, as name => 'region'."
        )
    return str(name) if columns is None else _require_names(columns)


def _require_names(columns: Sequence[str | None]) -> list[str]:
    """Return the columns of an index.

    Raises:
        UnsupportedError: one is NULL.
    """
    if None in columns:
        raise UnsupportedError(
            "A column of an index cannot be NULL: name partition columns, as array('region')."
        )
    return [str(column) for column in columns]


def _indexes(context: Context, table: ms.TableSnapshot) -> list[TableIndex]:
    """Return the indexes of a table that has just been changed."""
    metadata = context.cache(table).metadata
    ready = [index for index in metadata.indexes if index.ready]
    return [TableIndex(index.name, ms.index_columns(metadata, index), table.version) for index in ready]
