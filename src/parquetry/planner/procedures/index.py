"""The shared parts of the procedures about secondary indexes: the choice of one, and the result's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from parquetry.errors import UnsupportedError
from parquetry.metastore import TableSnapshot, index_columns
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Arguments, Row

INDEX_COLUMNS = (("name", "string"), ("columns", "string"), ("version", "long"))
"""The indexes that the table has afterwards, and its version."""


class IndexChoice(Arguments, frozen=True, kw_only=True):
    """An index, by its columns or by its name."""

    columns: Annotated[list[str | None] | None, "Its columns, or"] = None
    name: Annotated[str | None, "its name."] = None

    def index(self) -> str | list[str]:
        """Return the name of the index, or its columns.

        Raises:
            UnsupportedError: both are given, or neither.
        """
        if (self.columns is None) == (self.name is None):
            raise UnsupportedError(
                "Say which index: either by its columns, as array('region'), or by its name, as name => 'region'."
            )
        return str(self.name) if self.columns is None else named_columns(self.columns)


def named_columns(columns: Sequence[str | None]) -> list[str]:
    """Return the columns of an index.

    Raises:
        UnsupportedError: one is NULL.
    """
    if None in columns:
        raise UnsupportedError(
            "A column of an index cannot be NULL: name partition columns, as array('region')."
        )
    return [str(column) for column in columns]


def index_rows(lake: Lake, table: TableSnapshot) -> list[Row]:
    """Return a row for each index of a table that has just been changed."""
    lake.cache(table)
    metadata = table.metadata
    return [
        (index.name, ", ".join(index_columns(metadata, index)), table.version)
        for index in metadata.indexes
        if index.ready
    ]
