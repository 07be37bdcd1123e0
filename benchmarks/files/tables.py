"""The tables that planning is measured on: entries with statistics of 23 columns, without data files.

A file's statistics follow from its number by arithmetic that `iceberg.scala` repeats. So both libraries hold
the same bounds, and a filter selects the same files of either.
"""

from __future__ import annotations

import hashlib
import itertools
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.metastore.table import DATABASE, progress
from parquetry import metastore as ms
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    TableColumn,
    TableMetadata,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.types import Value

VALUE_SPAN = 1_000_000_000
"""Values of the columns that filters are about: from 0 to this, exclusive."""
FILE_VALUE_SPAN = 1_000
"""Values between a file's least and greatest of a column that is not laid out."""
FILE_BYTES, FILE_ROWS = 32 << 20, 100_000
_MODIFIED_MS = 1_700_000_000_000
_FILES_PER_COMMIT = 50_000
"""Files in a commit that makes a table."""

Numbers = NDArray[np.uint64]

LAID_OUT = ("scattered", "ordered", "within")
"""Columns of longs for filters: random values, values sorted over the whole table, or in each partition."""
OTHERS = {
    "integer": 4,
    "long": 2,
    "double": 4,
    "string": 5,
    "date": 2,
    "decimal(12,2)": 2,
    "timestamp": 1,
}
"""How many of the other columns are of a type."""
TYPES = [type_ for type_, count in OTHERS.items() for _ in range(count)]
NARROW = 4
"""How many of the other columns a narrow table has."""


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How many files a table has, in how many partitions.

    Attributes:
        name: of the table.
        partitions: their number; they are 0, 1, … in column `p`.
        files: of each.
        narrow: whether the table has a few columns only, so that tens of millions of files are soon made.
    """

    name: str
    partitions: int
    files: int
    narrow: bool = False

    @property
    def types(self) -> list[str]:
        """Return the types of the columns that are not laid out."""
        return TYPES[:NARROW] if self.narrow else TYPES

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """Return the columns."""
        others = (TableColumn(f"c{number}", type_) for number, type_ in enumerate(self.types))
        return (*(TableColumn(name, "long") for name in LAID_OUT), *others, TableColumn("p", "integer"))

    @property
    def total(self) -> int:
        """Return the number of files."""
        return self.partitions * self.files

    def __str__(self) -> str:
        if self.files == 1:
            return f"{self.partitions:,} partitions of one file"
        return f"{self.total:,} files in {self.partitions:,} partition{'s' * (self.partitions > 1)}"

    def lowest(self, column: str, numbers: Numbers) -> NDArray[np.int64]:
        """Return the least values of one of `LAID_OUT` in files, given the files' numbers."""
        if column == "ordered":
            return (numbers * np.uint64(VALUE_SPAN // self.total)).astype(np.int64)
        if column == "within":
            return (numbers % np.uint64(self.files) * np.uint64(VALUE_SPAN // self.files)).astype(np.int64)
        return mixed(numbers, 0) % VALUE_SPAN

    def width(self, column: str) -> int:
        """Return the greatest value minus the least of one of `LAID_OUT`, which is the same in every file."""
        return {"ordered": VALUE_SPAN // self.total, "within": VALUE_SPAN // self.files}.get(
            column, FILE_VALUE_SPAN
        ) - 1


def mixed(numbers: Numbers, salt: int) -> NDArray[np.int64]:
    """Return a number that looks random for each number: the upper 63 bits of SplitMix64."""
    with np.errstate(over="ignore"):
        z = numbers * np.uint64(32) + np.uint64(salt) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return ((z ^ (z >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def kept(folder: Path, shape: FileLayout, console: Console) -> Path:
    """Return the warehouse of a table, made if it is not there, or was made by other code.

    Args:
        folder: that holds the warehouses.
        shape: of the table.
        console: shows how far it is.
    """
    warehouse = folder / f"files-{shape.partitions}-{shape.files}{'-narrow' * shape.narrow}"
    made_by = warehouse / "made-by"
    if made_by.exists() and made_by.read_text(encoding="utf-8") == _digest():
        return warehouse
    shutil.rmtree(warehouse, ignore_errors=True)
    with open_metastore(str(warehouse), create=True) as metastore, progress(console) as shown:
        task = shown.add_task(f"files of {shape}", total=shape.total)
        metastore.create_database(DATABASE)
        location = metastore.table_location(DATABASE, shape.name)
        metadata = TableMetadata(shape.columns, ("p",), "parquet", location)
        table = metastore.create_table(DATABASE, shape.name, metadata)
        a_commit = max(1, _FILES_PER_COMMIT // shape.files)
        for start in range(0, shape.partitions, a_commit):
            some = range(shape.partitions)[start : start + a_commit]
            transaction = Transaction(table, "append")
            # all of a commit at once: NumPy's arrays of one file's values would take most of the time
            records = iter(entries(shape, start * shape.files, len(some) * shape.files))
            for partition in some:
                transaction.append((partition,), list(itertools.islice(records, shape.files)))
            table = commit(transaction)
            shown.advance(task, len(some) * shape.files)
    made_by.write_text(_digest(), encoding="utf-8")
    return warehouse


def entries(shape: FileLayout, first: int, count: int) -> list[FileRecord]:
    """Return the records of files by their numbers, from the first."""
    numbers = np.arange(first, first + count, dtype=np.uint64)
    columns: dict[str, list[ColumnStatistics]] = {}
    for name in LAID_OUT:
        low = shape.lowest(name, numbers)
        columns[name] = _statistics(low.tolist(), (low + shape.width(name)).tolist())
    for number, type_ in enumerate(shape.types):
        low = mixed(numbers, len(LAID_OUT) + number)
        columns[f"c{number}"] = _statistics(*_bounds(type_, low))
    rows = zip(*columns.values(), strict=True)
    return [
        FileRecord(
            file_name(number), FILE_BYTES, FILE_ROWS, _MODIFIED_MS, dict(zip(columns, row, strict=True))
        )
        for number, row in zip(numbers.tolist(), rows, strict=True)
    ]


def file_name(number: int) -> str:
    """Return the name of a file, as long as Spark's are."""
    return f"part-{number:07d}-7d2f6a0e-4f0b-4c8e-9b57-3f1f0c7a5d11-c000.snappy.parquet"


def one_percent(shape: FileLayout, column: str) -> tuple[int, int, int]:
    """Return a range of a column that a hundredth of the files overlaps: least, greatest, number of files."""
    first, last = VALUE_SPAN // 2, VALUE_SPAN // 2 + VALUE_SPAN // 100 - 1
    low = shape.lowest(column, np.arange(shape.total, dtype=np.uint64))
    return first, last, int(np.count_nonzero((low <= last) & (low + shape.width(column) >= first)))


def _statistics(low: Sequence[Value], high: Sequence[Value]) -> list[ColumnStatistics]:
    return [ColumnStatistics(400_000, 0, *bounds) for bounds in zip(low, high, strict=True)]


def _bounds(type_: str, random: NDArray[np.int64]) -> tuple[list[Value], list[Value]]:
    """Return the least and the greatest values of a column of a type, as records hold them."""
    low, high = _values(type_, random, 0), _values(type_, random, FILE_VALUE_SPAN - 1)
    return list(low), list(high)


def _values(type_: str, random: NDArray[np.int64], above: int) -> Iterator[Value]:
    within = {"integer": 1_000_000, "date": 20_000, "timestamp": 1_700_000_000_000_000}
    numbers = (random % within.get(type_, 1_000_000_000_000) + above).tolist()
    match type_:
        case "double":
            return (number / 100 for number in numbers)
        case "string":
            return (f"{number:016x}" for number in numbers)
        case "decimal(12,2)":  # as text, see `ColumnStatistics`
            return (f"{number // 10_000}.{number // 100 % 100:02d}" for number in numbers)
        case _:
            return iter(numbers)


def _digest() -> str:
    """Return a digest of the code that writes entries: this module, records, the metastore, its SQLite."""
    package = Path(ms.__file__).parent
    sources = [
        Path(__file__),
        *sorted(package.glob("*.py")),
        *sorted((package.parent / "layout").glob("*.py")),
        *sorted((package.parent / "store").glob("sqlite*.py")),
    ]
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()
