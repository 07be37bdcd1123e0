"""Files whose rows the metastore has, since each wanted column has one value in them."""

from __future__ import annotations

from decimal import Decimal

from parquetry.data_files import TableColumn
from parquetry.layout import REST, SkewMap
from parquetry.layout.arrangement import ArrangementSpec
from parquetry.metastore import FileRecord, Metastore, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.prune.rules.results.constant_files import constant_files
from parquetry.prune.select import select_files
from parquetry.store import MemoryStore
from parquetry.types import Value

COLUMNS = (
    TableColumn("v", "long"),
    TableColumn("x", "integer"),
    TableColumn("s", "string"),
    TableColumn("r", "double"),
    TableColumn("p", "decimal(5,2)"),
)


def made(skew: SkewMap | None, rows: int | None = 5) -> TableSnapshot:
    """Return a table with a file for each cell of the map, for the rest, and for no known cell."""
    metadata = TableMetadata(COLUMNS, ("p",), "parquet", "/t", arrangement=ArrangementSpec(skew))
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    cells = [None] if skew is None else [REST, *range(len(skew.cells)), None]
    for p in (Decimal("1.00"), None):
        files = [FileRecord(f"{p}-{cell}", 10, rows, 1, cell=cell) for cell in cells]
        transaction.append((p,), files)
    return commit(transaction)


def unopened(table: TableSnapshot, *columns: str) -> dict[str, tuple[int, tuple[Value, ...]]] | None:
    """Return the files that need not be opened, each with its number of rows and its values."""
    selection = select_files(table, [], columns)
    found = constant_files(table, selection.partitions, selection.block, columns)
    if found is None:
        return None
    each = zip(selection.files, found.rows.tolist(), found.of_files.tolist(), strict=True)
    return {file.file.path: (rows, found.values[at]) for file, rows, at in each if rows >= 0}


def test_partition_columns() -> None:
    """For partition columns, no file with a known number of rows is opened; names are in any case."""
    assert unopened(made(None), "P") == {"1.00-None": (5, ()), "None-None": (5, ())}
    assert unopened(made(None)) == {"1.00-None": (5, ()), "None-None": (5, ())}
    assert unopened(made(None, rows=None), "p") is None
    assert unopened(made(None), "p", "v") is None


def test_skewed_columns() -> None:
    """For skewed columns, files of directories for single values are not opened, in the wanted order."""
    skew = SkewMap(("x", "s"), ((10, "a"), (None, "b")), directories=True)
    table = made(skew)
    cells = {f"{p}-{cell}": cell for p in ("1.00", "None") for cell in (0, 1)}
    assert unopened(table, "s", "p", "x") == {
        path: (5, (("a", 10), ("b", None))[cell]) for path, cell in cells.items()
    }
    assert unopened(table, "x") == {path: (5, ((10,), (None,))[cell]) for path, cell in cells.items()}
    assert unopened(table, "x", "v") is None
    assert unopened(made(skew, rows=None), "x") is None


def test_values_that_differ_although_they_are_equal() -> None:
    """A directory for the double 0.0 may have -0.0, so its files are opened."""
    table = made(SkewMap(("r",), ((0.0,), (1.5,)), directories=True))
    assert unopened(table, "r") is None
