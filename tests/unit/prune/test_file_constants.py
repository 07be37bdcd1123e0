"""Files of one value: values that Spark evaluates other functions over, and what follows for files."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from parquetry.data_files import Trust
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    Transaction,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.planner.predicates import conditions
from parquetry.prune.rules import file_constants as module
from parquetry.prune.rules.directory_knowledge import ColumnValues
from parquetry.prune.rules.file_constants import file_constants
from parquetry.prune.select import select_files
from parquetry.store.memory import MemoryStore

COLUMNS = (
    TableColumn("c", "string"),
    TableColumn("n", "integer"),
    TableColumn("f", "double"),
    TableColumn("h", "char(3)"),
    TableColumn("p", "integer"),
)


def statistics(least: object, greatest: object, nulls: int) -> ColumnStatistics:
    """Return the statistics of a column of a file."""
    return ColumnStatistics(80, nulls, least, greatest, trust=Trust.EXACT)


def made(files: Sequence[dict[str, tuple[object, object, int]]]) -> TableSnapshot:
    """Make a table with files of ten rows, by the least and greatest value and the NULLs of their columns."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata(COLUMNS, ("p",), "parquet", "/lake/db.db/t")
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for p in (1, 2):
        records = [
            FileRecord(
                f"{p}/{place}", 100, 10, 1, {name: statistics(*each) for name, each in columns.items()}
            )
            for place, columns in enumerate(files)
        ]
        transaction.replace((p,), records)
    return commit(transaction)


def found(table: TableSnapshot, *columns: str) -> list[ColumnValues]:
    """Return the rows of values of a condition about some columns."""
    selection = select_files(table, [], about=columns)
    return file_constants(table.metadata, selection.partitions, selection.block, [columns])[0]


FILES: list[dict[str, tuple[object, object, int]]] = [
    {"c": ("a", "a", 0), "n": (1, 1, 0), "f": (1.0, 1.0, 0), "h": ("a  ", "a  ", 0)},
    {"c": ("a", "a", 0), "n": (1, 2, 0)},
    {"c": ("b", "b", 0), "n": (3, 3, 3)},
    {"c": (None, None, 10), "n": (4, 4, 0)},
    {"c": ("a", "z", 0), "n": (5, 5, 0)},
    {},
]


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (("c",), [("a",), ("b",), (None,)]),
        (("n",), [(1,), (4,), (5,)]),
        (("c", "n"), [("a", 1), (None, 4)]),
        (("p", "c"), [(p, c) for p in (1, 2) for c in ("a", "b", None)]),
        (("c", "f"), None),
        (("h",), None),
        (("p",), None),
        ((), None),
    ],
)
def test_rows_of_values(columns: tuple[str, ...], rows: list[tuple[object, ...]] | None) -> None:
    """A column's value counts in files where all rows have it, or all have NULL; not of floats and chars."""
    assert found(made(FILES), *columns) == ([] if rows is None else [ColumnValues(columns, rows)])


def test_too_many_rows_are_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more different rows than Spark should evaluate, there are none."""
    monkeypatch.setattr(module, "MAX_ROWS", 2)
    assert found(made(FILES), "c") == []
    assert found(made(FILES), "c", "n") != []


@pytest.mark.parametrize(
    ("fails", "kept"),
    [
        ([{"columns": ["c"], "rows": [["a"]]}], [2, 3, 4, 5]),
        ([{"columns": ["c"], "rows": [["a"], [None]]}], [2, 4, 5]),
        ([{"columns": ["n"], "rows": [["1"], ["3"], ["5"]]}], [1, 2, 3, 5]),
        ([{"columns": ["c", "n"], "rows": [["a", "1"], [None, "4"]]}], [1, 2, 4, 5]),
        ([{"columns": ["c", "n"], "rows": [["b", "3"]]}], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_files_of_failing_values_are_left_out(fails: list[dict[str, object]], kept: list[int]) -> None:
    """A file is left out if the condition fails for its values, and only if no row may be NULL besides."""
    tree = {
        "fn": "DIRECTORY_PREDICATE", "sql": "dayname(c) = 'Mon'", "columns": fails[0]["columns"], "tree": None,
        "expression": None, "fails": fails,
    }  # fmt: skip
    table = made(FILES)
    selection = select_files(table, conditions(table, [tree]))
    assert [file.file.path for file in selection.files] == [f"{p}/{n}" for p in (1, 2) for n in kept]
