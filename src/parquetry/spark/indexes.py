"""Secondary indexes in SQL: `CALL system.create_partition_index`, `drop_partition_index`, `rebuild_…`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import Progress

from parquetry.errors import UnsupportedError
from parquetry.maintenance.indexes import Progress as Told
from parquetry.maintenance.indexes import create_index, drop_index, rebuild_index
from parquetry.metastore.indexes import index_columns
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.spark.lake import Lake
from parquetry.spark.versions import Rows

INDEXES = (("name", "string"), ("columns", "string"), ("version", "long"))
"""The indexes that the table has afterwards, and its version."""


def call_create(lake: Lake, arguments: dict[str, Any]) -> Rows:
    """Run `CALL system.create_partition_index`."""
    table = lake.find(arguments["table"])
    with _progress(table) as told:
        return _rows(lake, create_index(table, _columns(arguments) or (), arguments["name"], told))


def call_drop(lake: Lake, arguments: dict[str, Any]) -> Rows:
    """Run `CALL system.drop_partition_index`."""
    return _rows(lake, drop_index(lake.find(arguments["table"]), _which(arguments)))


def call_rebuild(lake: Lake, arguments: dict[str, Any]) -> Rows:
    """Run `CALL system.rebuild_partition_index`."""
    table = lake.find(arguments["table"])
    with _progress(table) as told:
        return _rows(lake, rebuild_index(table, _which(arguments), told))


def _columns(arguments: dict[str, Any]) -> list[str] | None:
    columns: list[str] | None = arguments["columns"]
    if columns is not None and None in columns:
        raise UnsupportedError(
            "a column of an index cannot be NULL: name partition columns, as array('region')"
        )
    return columns


def _which(arguments: dict[str, Any]) -> str | list[str]:
    """Return the name of an index, or its columns."""
    columns, name = _columns(arguments), arguments["name"]
    if (columns is None) == (name is None):
        raise UnsupportedError(
            "say which index: either by its columns, as array('region'), or by its name, as name => 'region'"
        )
    return str(name) if columns is None else columns


def _rows(lake: Lake, table: TableSnapshot) -> Rows:
    lake.hold(table)
    metadata = table.metadata
    return [
        [index.name, ", ".join(index_columns(metadata, index)), str(table.version)]
        for index in metadata.indexes
        if index.ready
    ]


@contextlib.contextmanager
def _progress(table: TableSnapshot) -> Iterator[Told]:
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Indexing partitions", total=table.totals.partitions)
        yield lambda done, total: bar.update(task, completed=done, total=total)
