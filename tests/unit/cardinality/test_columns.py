"""Statistics of columns in selected files: true of these files, or none."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquetry.cardinality.columns import ColumnEstimate, estimate_columns
from parquetry.data_files import ArrowFooters, TableColumn
from parquetry.data_files.defaults import EXISTS_DEFAULT
from parquetry.metastore import FileRecord, Metastore, TableMetadata, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.predicate import Filter
from parquetry.predicate.nodes import Compare
from parquetry.prune.select import select_files
from parquetry.store.memory import MemoryStore
from parquetry.types import Value, parse_type
from tests.support.tables.statistics import exact

INT = parse_type("int")


def table(columns: dict[str, Any], partitions: dict[Value, list[FileRecord]]) -> TableSnapshot:
    """Return a table with a partition column `p`."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    described = [
        each if isinstance(each, TableColumn) else TableColumn(name, each) for name, each in columns.items()
    ]
    metadata = TableMetadata((*described, TableColumn("p", "integer")), ("p",), "parquet", "/lake/t")
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for value, files in partitions.items():
        transaction.append((value,), files)
    return commit(transaction)


def of_files(kind: Any, *statistics: Any, rows: int = 100) -> ColumnEstimate | None:
    """Return the statistics of a column `c` in files with these records."""
    name = kind.physical if isinstance(kind, TableColumn) else "c"
    files = [
        FileRecord(f"{n}.parquet", 1000, rows, 1, {} if each is None else {name: each})
        for n, each in enumerate(statistics)
    ]
    return estimate(table({"c": kind}, {1: files}), "c")


def estimate(snapshot: TableSnapshot, column: str, *conditions: Any) -> ColumnEstimate | None:
    """Return the statistics of a column in the files that conditions keep, or None if there are none."""
    selection = select_files(snapshot, [Filter(each) for each in conditions])
    found = estimate_columns(snapshot.metadata, selection, [column])
    return found[0] if found else None


def test_statistics_are_those_of_the_files_left() -> None:
    """A condition that leaves out a file leaves out its values, its NULLs and its numbers, too."""
    files = [
        FileRecord("a.parquet", 1000, 100, 1, {"c": exact(50, 10, 1, 9), "d": exact(50, 0, 1, 1)}),
        FileRecord("b.parquet", 1000, 100, 1, {"c": exact(50, 1, 500, 599), "d": exact(50, 0, 2, 2)}),
    ]
    snapshot = table({"c": "integer", "d": "integer"}, {1: files})
    assert estimate(snapshot, "c") == ColumnEstimate("c", 9 + 99, 11, 1, 599)
    assert estimate(snapshot, "c", Compare("=", "d", 1, INT)) == ColumnEstimate("c", 9, 10, 1, 9)
    assert estimate(snapshot, "d") == ColumnEstimate("d", 2, 0, 1, 2)


def test_partition_columns_are_exact() -> None:
    """A partition column has its values, also NULL, weighted by rows; a partition without rows has none."""
    files = [FileRecord("a.parquet", 10, 7, 1, {})]
    snapshot = table(
        {"c": "integer"}, {1: files, 5: files, None: files, 9: [FileRecord("b.parquet", 10, 0, 1, {})]}
    )
    assert estimate(snapshot, "p") == ColumnEstimate("p", 2, 7, 1, 5)
    assert estimate(snapshot, "p", Compare(">", "p", 1, INT)) == ColumnEstimate("p", 1, 0, 5, 5)


@pytest.mark.parametrize(
    ("kind", "low", "high", "distinct"),
    [
        ("byte", -3, 3, 7),
        ("short", 1, 12, 12),
        ("integer", 1, 80_000, 100),
        ("long", -(1 << 60), 1 << 60, 100),
        ("boolean", False, True, 2),
        ("boolean", True, True, 1),
        ("date", 19_000, 19_006, 7),
        ("timestamp", 0, 86_400_000_000, 100),
        ("decimal(3,1)", "0.5", "1.4", 10),
        ("double", -1.5, 2.5, 100),
        ("float", 0.0, 1.0, 100),
    ],
)
def test_types_with_bounds(kind: str, low: Any, high: Any, distinct: int) -> None:
    """A type with bounds has no more distinct values than rows, and than its range."""
    ends = (Decimal(low), Decimal(high)) if isinstance(low, str) else (low, high)
    assert of_files(kind, exact(None, 0, low, high)) == ColumnEstimate("c", distinct, 0, *ends)


@pytest.mark.parametrize(
    "kind", ["timestamp_ntz", "variant", {"type": "array", "elementType": "integer", "containsNull": True}]
)
def test_types_that_spark_does_not_estimate_have_none(kind: Any) -> None:
    """Spark takes such a column with statistics for empty, or fails if it has bounds."""
    assert of_files(kind, exact(50, 0, 1, 2)) is None


@pytest.mark.parametrize(
    "statistics",
    [None, exact(50, None, 1, 2), exact(50, 0, None, None), exact(50, 0, math.nan, math.nan)],
    ids=["none", "without NULLs", "without bounds", "NaN"],
)
def test_what_is_unknown_of_one_file_is_unknown(statistics: Any) -> None:
    """A column has no statistics if a file has none, but has rows."""
    assert of_files("double", exact(50, 0, 1.0, 2.0), statistics) is None


def test_infinite_bounds_are_none() -> None:
    """Spark divides by the range between the bounds, so infinite ones give no statistics."""
    assert of_files("double", exact(50, 0, -math.inf, 2.0)) is None


def test_nulls_alone() -> None:
    """A column of NULLs alone has no value, and files without rows do not count."""
    assert of_files("integer", exact(50, 100, None, None)) == ColumnEstimate("c", 0, 100)
    assert of_files("integer", exact(50, 0, None, None), rows=0) == ColumnEstimate("c", 0, 0)


def test_texts_have_no_bounds() -> None:
    """Texts have a length, and as many distinct values as their bytes may stand for."""
    assert of_files("string", exact(40, 5, "Books", "Women")) == ColumnEstimate("c", 11, 5, length=5)
    assert of_files("string", exact(None, 5, "Books", "Women")) == ColumnEstimate("c", 95, 5, length=5)
    assert of_files("binary", exact(None, 0, b"\x00", b"\xff\xff")) == ColumnEstimate("c", 100, 0, length=2)


def test_truncated_texts_are_no_single_value() -> None:
    """Bounds that may be truncated do not prove that a file has one value; exact bounds that agree do."""
    once, shortened = exact(None, 0, "a", "a"), exact(None, 0, "a" * 64, "a" * 63 + "b", False, False)
    assert of_files("string", once, once) == ColumnEstimate("c", 1, 0, length=1)
    found = of_files("string", shortened)
    assert found is not None
    assert found.distinct == 100


def test_chars_are_padded() -> None:
    """A char takes its whole length when Spark reads it."""
    assert of_files("char(10)", exact(None, 0, "a", "b")) == ColumnEstimate("c", 100, 0, length=10)


def test_added_columns_have_their_default() -> None:
    """Files from before a column was added have its DEFAULT in all rows, or else NULL."""
    other = {"o": exact(50, 0, 1, 1)}
    files = [
        FileRecord("a.parquet", 1000, 100, 1, other),
        FileRecord("b.parquet", 1000, 100, 1, {**other, "c": exact(50, 0, 1, 5)}),
    ]
    for default, expected in [
        ("7", ColumnEstimate("c", 6, 0, 1, 7)),
        (None, ColumnEstimate("c", 5, 100, 1, 5)),
    ]:
        column = TableColumn("c", "integer", metadata={} if default is None else {EXISTS_DEFAULT: default})
        assert estimate(table({"c": column, "o": "integer"}, {1: files}), "c") == expected


def test_renamed_columns_keep_their_statistics() -> None:
    """A renamed column has its old name in files, and an adopted file another spelling of it."""
    column = TableColumn("c", "integer", metadata={"parquetry.physical": "Old"})
    assert of_files(column, exact(50, 0, 1, 5)) == ColumnEstimate("c", 5, 0, 1, 5)
    spelled = [FileRecord("a.parquet", 1000, 100, 1, {"OLD": exact(50, 0, 1, 5)})]
    assert estimate(table({"c": column}, {1: spelled}), "c") == ColumnEstimate("c", 5, 0, 1, 5)


def test_decimals_have_the_digits_of_today() -> None:
    """A file may have fewer digits than its column has now."""
    found = of_files("decimal(38,4)", exact(None, 0, "1.5", "9" * 30))
    assert found is not None
    assert (str(found.least), str(found.greatest)) == ("1.5000", "9" * 30 + ".0000")


def test_widened_columns_are_unknown_if_their_values_changed() -> None:
    """A file whose type Spark reads as other values has no statistics of the column."""
    statistics = exact(50, 0, 1, 5)
    odd = type(statistics)(50, 0, 1, 5, True, True, statistics.trust, "parquet BYTE_ARRAY")
    assert of_files("integer", odd) is None


def test_real_footers(tmp_path: Path) -> None:
    """Statistics that are read from a file's footer agree with its rows, before 1900, too."""
    rows = {
        "i": [3, 1, None, 2],
        "d": [date(1850, 1, 1), date(1970, 1, 2), None, None],
        "t": [datetime(1850, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC), None, None],
        "f": [1.5, math.nan, 2.5, None],
        "m": [Decimal("1.25"), Decimal("-7.00"), None, None],
        "s": ["zwei", "eins", "eins", None],
        "b": [True, None, True, True],
    }
    pq.write_table(pa.table({**rows, "m": pa.array(rows["m"], pa.decimal128(7, 2))}), tmp_path / "a.parquet")
    kinds = {
        "i": "long", "d": "date", "t": "timestamp", "f": "double", "m": "decimal(7,2)", "s": "string", "b": "boolean"
    }  # fmt: skip
    (footer,) = ArrowFooters().data_files("parquet", str(tmp_path), ["a.parquet"])
    snapshot = table(kinds, {1: [footer]})
    found = {name: estimate(snapshot, name) for name in kinds}
    assert found["i"] == ColumnEstimate("i", 3, 1, 1, 3)
    assert found["m"] == ColumnEstimate("m", 2, 2, Decimal("-7.00"), Decimal("1.25"))
    assert found["b"] == ColumnEstimate("b", 1, 1, True, True)
    assert found["s"] == ColumnEstimate("s", 2, 1, length=4)
    for name, day in (("d", 1), ("t", 86_400_000_000)):
        each = found[name]
        assert each is None or (each.nulls, each.least) == (2, -43_829 * day)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("double", True), ("float", False), ("decimal(9,1)", True), ("long", True), ("string", False)],
)
def test_histograms_of_compared_columns(kind: str, expected: bool) -> None:
    """Compared columns have histograms, except of types whose bounds Spark would not find at the ends."""
    two = (
        [("0.5", "1.5"), ("9.5", "10.5")]
        if kind.startswith("d") or kind == "float"
        else [("1", "2"), ("8", "9")]
    )
    convert = {"string": str, "long": int}.get(kind, Decimal if kind.startswith("decimal") else float)
    files = [
        FileRecord(
            str(n),
            1000,
            100,
            1,
            {
                "c": exact(
                    50, 0, *(str(convert(each)) if kind[:3] == "dec" else convert(each) for each in ends)
                )
            },
        )
        for n, ends in enumerate(two)
    ]
    snapshot = table({"c": kind}, {1: files})
    (found,) = estimate_columns(snapshot.metadata, select_files(snapshot, []), ["c"], {"c"})
    assert (found.histogram is not None) == expected
