"""Tables with skew directories, for tests: how to set their maps, and the right place of each row."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.orc
import pyarrow.parquet

from parquetry import metastore as ms
from parquetry.layout.cells import REST
from parquetry.layout.skew_map import cell_directory
from parquetry.locations.uri import join_location
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.types import ColumnType, to_python


def arrange(metastore: ms.Metastore, name: str, skew: ms.SkewMap | None) -> None:
    """Set the map of a table for partitions made from now on, and relax its rules, so that rows can be added.

    Args:
        metastore: that has the table.
        name: ``database.table``.
        skew: the map, or None to have none.
    """
    table = metastore.table(*name.split("."))
    transaction = Transaction(table, "arrange")
    properties = {**table.metadata.properties, "list-bucketing-rules": "relaxed"}
    arranged = msgspec.structs.replace(
        table.metadata, arrangement=ms.ArrangementSpec(skew), properties=properties
    )
    transaction.set_metadata(arranged)
    commit(transaction)


def read_rows(
    table: ms.TableSnapshot, part: ms.PartitionSnapshot, file: ms.FileRecord
) -> list[dict[str, Any]]:
    """Return the rows of a file, read alone, by the physical names of the columns."""
    path = join_location(part.location, file.path).removeprefix("file:")
    reader = pyarrow.orc.read_table if table.metadata.format == "orc" else pyarrow.parquet.read_table
    options = {} if table.metadata.format == "orc" else {"partitioning": None}
    rows: list[dict[str, Any]] = reader(path, **options).to_pylist()
    return rows


def find_cell(skew: ms.SkewMap, types: Sequence[ColumnType], row: dict[str, Any]) -> int:
    """Return the cell of a row, looked for one by one."""
    for number, cell in enumerate(skew.values(types)):
        wanted = [to_python(type, value) for type, value in zip(types, cell, strict=True)]
        if all(
            _same(type, row[name], value)
            for name, type, value in zip(skew.columns, types, wanted, strict=True)
        ):
            return number
    return REST


def _same(type: ColumnType, one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if type.floating and math.isnan(one):
        return math.isnan(other)
    if type.name == "char":
        return bool(one.rstrip(" ") == other.rstrip(" "))
    if isinstance(one, int) and type.name == "timestamp_ntz":  # as Spark writes it to ORC
        one = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=one)
    if type.name in ("timestamp", "timestamp_ntz"):  # ORC says of neither, or of both, that it is in UTC
        return bool(one.replace(tzinfo=None) == other.replace(tzinfo=None))
    return bool(one == other)


def misplaced(table: ms.TableSnapshot) -> Iterator[str]:
    """Yield errors about where rows are: the record of a file, or its directory."""
    types = {column.physical: column.column_type for column in table.metadata.columns}
    for part in table.partitions():
        skew = part.arrangement.skew
        base = table.placement.default_location(part.values).removeprefix("file:")
        for file in part.files:
            path = Path(join_location(part.location, file.path).removeprefix("file:"))
            if skew is None or not skew.directories:
                if file.cell is not None or str(path.parent) != base:
                    yield f"{path} is of cell {file.cell}, and there are none"
                continue
            kinds = [types[name] for name in skew.columns]
            rows = read_rows(table, part, file)
            for row in {repr([row[name] for name in skew.columns]): row for row in rows}.values():
                cell: int | None = find_cell(skew, kinds, row)
                assert cell is not None
                given = skew.locations[cell] if skew.locations and cell != REST else None
                usual = cell_directory(skew, kinds, cell)
                if any(len(name.encode()) > 255 for name in usual.split("/")):
                    usual = cell_directory(skew, kinds, REST)
                folder = given.removeprefix("file:") if given else f"{base}/{usual}"
                earlier = file.rest_of is not None and (cell == REST or cell >= file.rest_of)
                if earlier:  # written before the map had the cell
                    cell, folder = None, f"{base}/{cell_directory(skew, kinds, REST)}"
                if (file.cell, str(path.parent)) != (cell, folder):
                    yield f"{path} is of cell {file.cell}, its row {row} of {cell}, whose place is {folder}"


def files_by_cell(table: ms.TableSnapshot) -> dict[tuple[Any, ...], Counter[int | None]]:
    """Return how many files each partition has of each cell, by the partition's values."""
    return {part.values: Counter(file.cell for file in part.files) for part in table.partitions()}
