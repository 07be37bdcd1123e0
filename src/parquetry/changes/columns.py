"""The columns that changes have after the table's own, by the names of Spark's interface for change data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from parquetry.data_files import TableColumn
from parquetry.errors import UnsupportedError
from parquetry.metastore import TableMetadata
from parquetry.rows import arrow_schema

CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"
CHANGE_COLUMNS: tuple[tuple[str, str], ...] = (
    (CHANGE_TYPE, "string"),
    (COMMIT_VERSION, "long"),
    (COMMIT_TIMESTAMP, "timestamp"),
)
"""Names, and types in Spark's JSON."""
INSERT, DELETE = "insert", "delete"
UPDATE_PREIMAGE, UPDATE_POSTIMAGE = "update_preimage", "update_postimage"


def require_free_names(metadata: TableMetadata, table: str) -> None:
    """Make sure that no column of a table has the name of a column of changes.

    Raises:
        UnsupportedError: one has.
    """
    names = {name for name, _ in CHANGE_COLUMNS}
    for column in metadata.columns:
        if column.name.lower() in names:
            raise UnsupportedError(
                f"The changes of table {table} cannot be read: its own column {column.name} has the name of a column "
                "that changes have. Rename it."
            )


def require_keys(metadata: TableMetadata, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a row's key as the table spells them.

    Args:
        metadata: of the table.
        keys: names of columns, in any case. An update of a row does not change them.

    Raises:
        ColumnNotFoundError: the table has no such column.
    """
    return tuple(dict.fromkeys(metadata.column(name).name for name in keys))


def change_schema(columns: Sequence[TableColumn]) -> pa.Schema:
    """Return the Arrow schema of changes.

    Args:
        columns: the wanted columns of the table.

    Raises:
        UnsupportedError: a column's type is read by Spark alone.
    """
    added: list[Any] = [
        pa.field(CHANGE_TYPE, pa.string(), nullable=False),
        pa.field(COMMIT_VERSION, pa.int64(), nullable=False),
        pa.field(COMMIT_TIMESTAMP, pa.timestamp("us", "UTC"), nullable=False),
    ]
    return pa.schema([*arrow_schema(columns), *added])
