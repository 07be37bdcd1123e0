"""Draw rows of a table, and code them for cutting: for each column its distinct values in order, and numbers.

Files are read whole and spread evenly; of each, rows are taken evenly. Where a budget of bytes leaves files
unread, their rows are estimated: rows of a file that was read are moved into the bounds of the unread one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from parquetry.adviser.input.sources import SourceFile, TableSource
from parquetry.data_files import FileBounds
from parquetry.progress import Progress, silent, track
from parquetry.rows import arrow_schema
from parquetry.types import ColumnType, Value, to_python

SAMPLE_ROWS = 200_000
"""Rows that a sample has, about. More make forecasts slower and hardly better."""
SAMPLE_BYTES = 512 << 20
"""Bytes of columns that a sample may read."""
SEED = 7
"""The sample of a version of a table is always the same."""
_NULL_CODE = -1


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """The files that a sample is drawn from.

    Attributes:
        files: the files to read, by position.
        bytes: of the columns that are read.
        rows: how many rows the sample will have, about.
        of_rows: rows of the table.
        columns: the columns to read.
    """

    files: tuple[int, ...]
    bytes: int
    rows: int
    of_rows: int
    columns: tuple[str, ...]

    @property
    def share(self) -> float:
        """Return the part of the table's rows that is drawn."""
        return min(1.0, self.rows / max(self.of_rows, 1))


def plan_sample(
    source: TableSource, columns: Sequence[str], rows: int = SAMPLE_ROWS, budget: int = SAMPLE_BYTES
) -> SamplePlan:
    """Choose the files that a sample is drawn from: all if the budget allows, else evenly spread ones."""
    sizes = source.bytes_of(columns)
    total, count = int(sizes.sum()), len(source.files)
    number = count if total <= budget else max(1, int(count * budget / total))
    chosen = np.unique(np.linspace(0, count - 1, number).round().astype(np.int64))
    return SamplePlan(
        tuple(chosen.tolist()),
        int(sizes[chosen].sum()),
        min(rows, source.rows),
        source.rows,
        tuple(columns),
    )


class CodedColumn:
    """The values of a column in the rows of a sample.

    Attributes:
        type: of the column.
        values: the distinct values in SQL's order, without NULL and NaN.
        codes: for each row the position of its value; -1 is NULL or NaN.
        least, greatest: of all rows of the table, as far as statistics know them.
    """

    def __init__(self, type: ColumnType, array: pa.Array, ends: tuple[Value, Value] = (None, None)) -> None:
        self.type = type
        self.values, self.codes = _code(array)
        self.least, self.greatest = ends

    @cached_property
    def rows_below(self) -> NDArray[np.int64]:
        """Return for each value the rows with a lesser value, and at last all rows with a value."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))
        return np.concatenate([[0], np.cumsum(counts)])

    @cached_property
    def sorted_codes(self) -> NDArray[np.int32]:
        """Return the codes of rows with a value, in order."""
        return np.sort(self.codes[self.codes >= 0])

    @property
    def distinct(self) -> int:
        """Return the number of distinct values in the sample."""
        return len(self.values)

    def value(self, code: int) -> Value:
        """Return a value by its position."""
        value: Value | np.generic = self.values[code]
        plain: Value = value.item() if isinstance(value, np.generic) else value
        return plain

    def subset(self, rows: NDArray[np.int64]) -> CodedColumn:
        """Return the column of some rows, coded by the same values."""
        other = object.__new__(CodedColumn)
        other.type, other.values, other.codes = self.type, self.values, self.codes[rows]
        other.least, other.greatest = self.least, self.greatest
        return other


def _code(array: pa.Array) -> tuple[NDArray[Any], NDArray[np.int32]]:
    kind = array.type
    values: Any
    codes: Any
    if pa.types.is_timestamp(kind):
        array = array.cast(pa.timestamp("us", kind.tz), safe=False).view(pa.int64())
    elif pa.types.is_date32(kind):
        array = array.view(pa.int32())
    elif pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    missing = array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        filled = array.fill_null(0).to_numpy(zero_copy_only=False)
        values, codes = np.unique(filled, return_inverse=True)
        present = np.unique(codes[~missing])
        positions = np.full(len(values), _NULL_CODE, np.int32)
        positions[present] = np.arange(len(present), dtype=np.int32)
        codes = positions[codes]
        values = values[present]
        if pa.types.is_boolean(kind):
            values = values.astype(np.bool_)
    else:
        coded = array.dictionary_encode()
        order = pc.sort_indices(coded.dictionary).to_numpy()
        positions = np.empty(len(order), np.int32)
        positions[order] = np.arange(len(order), dtype=np.int32)
        indices = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        codes = positions[indices] if len(order) else np.zeros(len(array), np.int32)
        values = np.array([None, *coded.dictionary.take(pa.array(order)).to_pylist()], np.object_)[1:]
    return values, np.where(missing, _NULL_CODE, codes).astype(np.int32)


@dataclass(frozen=True)
class Sample:
    """Rows of a table, in the order of its files.

    Attributes:
        table: the rows.
        columns: the same, coded.
        rows_each: rows of the table that a row stands for.
        file_of: the position of each row's file.
        read_bytes: bytes of columns that were read for it.
    """

    table: pa.Table
    columns: dict[str, CodedColumn]
    rows_each: float
    file_of: NDArray[np.int64]
    read_bytes: int

    @property
    def count(self) -> int:
        """Return the number of its rows."""
        return int(self.table.num_rows)

    def part(self, rows: NDArray[np.int64]) -> Sample:
        """Return some of the rows; each stands for more."""
        return Sample(
            self.table.take(pa.array(rows)),
            {name: column.subset(rows) for name, column in self.columns.items()},
            self.rows_each * self.count / max(len(rows), 1),
            self.file_of[rows],
            self.read_bytes,
        )

    def of_files(self, files: NDArray[np.int64], rows: int) -> Sample:
        """Return the rows of some files, as the sample of a table that has no others.

        Args:
            files: the files' positions, in order.
            rows: how many rows the files have.
        """
        chosen = np.flatnonzero(np.isin(self.file_of, files))
        columns = {name: column.subset(chosen) for name, column in self.columns.items()}
        for column in columns.values():
            column.least = column.greatest = None  # the ends were the whole table's
        return Sample(
            self.table.take(pa.array(chosen)),
            columns,
            rows / max(len(chosen), 1),
            np.searchsorted(files, self.file_of[chosen]),
            self.read_bytes,
        )


def draw_sample(source: TableSource, plan: SamplePlan, progress: Progress = silent) -> Sample:
    """Read the files of a plan, and take their rows evenly.

    Raises:
        UnsupportedError, FileMissingError, FileCorruptError: as `TableSource.read`.
    """
    rng = np.random.default_rng(SEED)
    share = plan.share
    wanted = np.maximum(source.file_rows * share, 1e-9)
    # fractions are carried over, so that small files have their part, too
    ends = np.floor(np.cumsum(wanted) + rng.random()).astype(np.int64)
    counts = np.diff(np.concatenate([[0], ends]))
    schema = arrow_schema([source.columns[name] for name in plan.columns])
    pieces: list[pa.Table] = []
    numbers: list[int] = []
    for index in track(progress, "Reading a sample", plan.files):
        file = source.files[index]
        most = max(int(counts[index]), 1 if len(plan.files) < len(source.files) else 0)
        if most:
            rows = pa.Table.from_batches(source.read(file, plan.columns), schema)
            pieces.append(_take_evenly(rows, most, rng))
            numbers.append(index)
    movers = _Movers(source, plan.columns)
    tables, files = [], []
    for index in np.flatnonzero(counts).tolist():
        donor = int(np.argmin(np.abs(np.array(numbers) - index)))
        piece = pieces[donor]
        if numbers[donor] != index:
            piece = movers.move(_take_evenly(piece, int(counts[index]), rng), numbers[donor], index)
        tables.append(piece)
        files.append(np.full(piece.num_rows, index))
    table = pa.concat_tables(tables).combine_chunks() if tables else schema.empty_table()
    coded = {name: _coded(source, name, table) for name in plan.columns}
    each = source.rows / max(table.num_rows, 1)
    return Sample(table, coded, each, np.concatenate(files) if files else np.zeros(0, np.int64), plan.bytes)


def _coded(source: TableSource, name: str, table: pa.Table) -> CodedColumn:
    array = table[name].combine_chunks()
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    ends: tuple[Value, Value] = (None, None)
    if name not in {column.name for column in source.partition_by}:
        bounds = [each for each in source.file_bounds(name) if each is not None]
        lows = [each.min for each in bounds if each.min is not None]
        highs = [each.max for each in bounds if each.max is not None]
        ends = (min(lows, default=None), max(highs, default=None))
    return CodedColumn(source.columns[name].column_type, array, ends)


def _take_evenly(rows: pa.Table, count: int, rng: np.random.Generator) -> pa.Table:
    """Return rows in equal distances, in their order; a row may stand twice where there are too few."""
    if count >= rows.num_rows:
        return rows
    step = rows.num_rows / count
    positions = np.floor((np.arange(count) + rng.random(count)) * step).astype(np.int64)
    return rows.take(pa.array(np.minimum(positions, rows.num_rows - 1)))


class _Movers:
    """Moves rows of one file into the bounds that another file has by its record."""

    def __init__(self, source: TableSource, names: Sequence[str]) -> None:
        self._source = source
        self._names = names
        self._bounds: dict[str, list[FileBounds | None]] = {}
        self._partition = {column.name: i for i, column in enumerate(source.partition_by)}

    def move(self, rows: pa.Table, donor: int, index: int) -> pa.Table:
        """Return rows of the donor with the other file's partition and within its bounds."""
        files = self._source.files
        columns = [
            self._partition_values(rows, name, files[index])
            if name in self._partition
            else self._moved(rows[name].combine_chunks(), name, donor, index)
            for name in self._names
        ]
        return pa.Table.from_arrays(columns, schema=rows.schema)

    def _partition_values(self, rows: pa.Table, name: str, file: SourceFile) -> pa.Array:
        type = self._source.columns[name].column_type
        value = to_python(type, file.values[self._partition[name]])
        return pa.array([value] * rows.num_rows, rows.schema.field(name).type)

    def _moved(self, array: pa.Array, name: str, donor: int, index: int) -> pa.Array:
        if name not in self._bounds:
            self._bounds[name] = self._source.file_bounds(name)
        old, new = self._bounds[name][donor], self._bounds[name][index]
        kind = array.type
        is_time = pa.types.is_temporal(kind)
        if (
            old is None
            or new is None
            or not (is_time or pa.types.is_integer(kind) or pa.types.is_floating(kind))
        ):
            return array
        if None in (old.min, old.max, new.min, new.max):
            return array
        width = 32 if pa.types.is_date32(kind) else 64
        plain = array.view(pa.int32() if width == 32 else pa.int64()) if is_time else array
        low, high, new_low, new_high = (float(each) for each in (old.min, old.max, new.min, new.max))  # type: ignore[arg-type]
        values = plain.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
        scale = (new_high - new_low) / (high - low) if high > low else 0.0
        moved = np.clip(new_low + (values - low) * scale, new_low, new_high)
        if not pa.types.is_floating(kind):
            moved = np.round(moved)
        result = pa.array(moved, pa.float64()).cast(plain.type, safe=False)
        result = pc.if_else(array.is_null(), pa.scalar(None, plain.type), result)
        return result.view(kind) if is_time else result
