"""Cut a sample into files as a writer would under a layout, and say what the metastore would know of them."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquetry.adviser.input.sampling import CodedColumn, Sample
from parquetry.adviser.layouts import DAY, MONTH, RANGE, VALUE, YEAR, Grain, TableLayout
from parquetry.predicate import NO_NULL, ONLY_NULL, SOME_NULL, Bounds, Knowledge, Row
from parquetry.types import Value

MICROS_PER_DAY = 86_400_000_000
_REST = -1
_MAX_CURVE_BITS = 10
"""Bits of a value's rank in a place on a curve."""
_MIN_REST = 0.02
"""The least rest of rows that makes another file; the writer's estimate of sizes is not better."""


class FileSlots(NamedTuple):
    """The partition, bucket and heavy value of the rows of each file; None without.

    A cell is the position of a heavy value, or -1 for all others.
    """

    partitions: NDArray[np.int64]
    bucket_numbers: NDArray[np.int64] | None
    cells: NDArray[np.int64] | None


class CutFiles(Knowledge):
    """The files of a layout, with their rows in the sample.

    Attributes:
        layout: of the files.
        sample: the rows.
        order: the positions of the sample's rows, file by file.
        starts: the first row of each file, in `order`.
        slots: what the rows of each file have together.
    """

    def __init__(
        self,
        layout: TableLayout,
        sample: Sample,
        order: NDArray[np.int64],
        starts: NDArray[np.int64],
        slots: FileSlots,
    ) -> None:
        self.layout, self.sample, self.order, self.starts, self.slots = layout, sample, order, starts, slots
        self.count = len(starts)
        heavy = [] if layout.heavy is None else [(layout.heavy.column,)]
        self.tuple_columns = [*([layout.bucket_by] if layout.bucket_count else []), *heavy]
        self._known: dict[str, Bounds | None] = {}

    @property
    def rows(self) -> NDArray[np.int64]:
        """Return the sample's rows in each file."""
        return np.diff(np.append(self.starts, len(self.order)))

    @property
    def partitions(self) -> int:
        """Return the number of partitions."""
        return len(np.unique(self.slots.partitions)) if self.count else 0

    def bounds(self, column: str) -> Bounds | None:
        """Return the bounds that a column has in each file, as far as its sampled rows tell."""
        if column not in self._known:
            self._known[column] = self._bounds_of(column)
        return self._known[column]

    def _bounds_of(self, name: str) -> Bounds | None:
        column = self.sample.columns.get(name)
        if column is None or not self.count:
            return None
        codes = column.codes[self.order]
        high = np.maximum.reduceat(codes, self.starts)
        low = np.minimum.reduceat(np.where(codes < 0, np.iinfo(np.int32).max, codes), self.starts)
        missing = np.add.reduceat((codes < 0).astype(np.int64), self.starts)
        empty = missing == self.rows
        nulls = np.where(empty, ONLY_NULL, np.where(missing > 0, SOME_NULL, NO_NULL))
        low = np.where(empty, 0, low)
        if Grain(name) in self.layout.partition:
            values = [None if skip else column.value(code) for skip, code in zip(empty, low, strict=True)]
            return Bounds.from_values(values)
        lows, highs = self._widened(column, low, np.where(empty, 0, high))
        least = [None if skip else value for skip, value in zip(empty, lows, strict=True)]
        greatest = [None if skip else value for skip, value in zip(empty, highs, strict=True)]
        bounds = Bounds.from_statistics(column.type, least, greatest, nulls.tolist())
        return bounds.with_no_nan(np.ones(self.count, np.bool_)) if column.type.floating else bounds

    def _widened(
        self, column: CodedColumn, low: NDArray[np.int64], high: NDArray[np.int64]
    ) -> tuple[list[Value], list[Value]]:
        """Return the bounds of all rows of each file. The sample has some of these rows.

        The greatest of n rows of a file is expected at n / (n + 1) of the way to the greatest of all.
        """
        unseen = max(0.0, 1 - 1 / self.sample.rows_each)
        if not unseen or not column.distinct:
            return [column.value(code) for code in low], [column.value(code) for code in high]
        below, total = column.rows_below, len(column.sorted_codes)
        first, last = below[low].astype(np.float64), below[high + 1].astype(np.float64)
        more = unseen * (last - first) / np.maximum(self.rows, 1)
        start = np.floor(np.maximum(first - more, 0)).astype(np.int64)
        stop = np.ceil(np.minimum(last + more, total)).astype(np.int64)
        lows = column.sorted_codes[np.minimum(start, total - 1)]
        highs = column.sorted_codes[np.maximum(stop - 1, 0)]
        least: list[Value] = [column.value(code) for code in lows]
        greatest: list[Value] = [column.value(code) for code in highs]
        if column.least is not None:
            least = [column.least if at == 0 else value for at, value in zip(start, least, strict=True)]
        if column.greatest is not None:
            ends = zip(stop, greatest, strict=True)
            greatest = [column.greatest if at >= total else value for at, value in ends]
        return least, greatest

    def may_hold(self, columns: tuple[str, ...], tuples: Collection[Row]) -> NDArray[np.bool_] | None:
        """Return the files whose bucket, or directory, may have one of some rows."""
        heavy = self.layout.heavy
        if self.slots.bucket_numbers is not None and columns == self.layout.bucket_by:
            wanted = {bucket_of(row, self.layout.bucket_count) for row in tuples}
            return np.isin(self.slots.bucket_numbers, list(wanted))
        if self.slots.cells is not None and heavy is not None and columns == (heavy.column,):
            values = {row[0] for row in tuples}
            cells = {cell for cell, value in enumerate(heavy.values) if value in values}
            if not values <= set(heavy.values):
                cells.add(_REST)
            return np.isin(self.slots.cells, list(cells))
        return None


def bucket_of(row: Row, count: int) -> int:
    """Return a bucket. Which hash it is does not matter here, as long as it spreads values evenly."""
    return zlib.crc32(repr(row).encode()) % count


def cut_files(sample: Sample, layout: TableLayout, row_bytes: float) -> CutFiles:
    """Cut a sample into files.

    Args:
        sample: of the table.
        layout: of the files.
        row_bytes: bytes of a row in files.
    """
    count = sample.count
    keys: list[NDArray[np.int64]] = [
        grain_codes(sample.columns[grain.column], grain) for grain in layout.partition
    ]
    part = _group_numbers(keys, count)
    cell = None
    if layout.heavy is not None:
        cell = _cells(sample.columns[layout.heavy.column], layout.heavy.values)
    bucket = None
    if layout.bucket_count:
        bucket = _buckets([sample.columns[name] for name in layout.bucket_by], layout.bucket_count)
    slots = [each for each in (part, cell, bucket) if each is not None]
    order = np.lexsort([*reversed(_sort_keys(sample, layout)), *reversed(slots)])  # it is stable
    group = _group_numbers([each[order] for each in slots], count) if count else np.zeros(0, np.int64)
    starts = _file_starts(group, sample.rows_each * row_bytes, layout)
    first = order[starts] if count else order
    slots_of_files = FileSlots(
        part[first], None if bucket is None else bucket[first], None if cell is None else cell[first]
    )
    return CutFiles(layout, sample, order, starts, slots_of_files)


def _sort_keys(sample: Sample, layout: TableLayout) -> list[NDArray[np.int64]]:
    """Return what rows are sorted by, the first column first; without columns, their present order."""
    columns = [sample.columns[name] for name in layout.sort]
    if layout.is_curve:
        return [_curve_keys(columns)]
    return [column.codes.astype(np.int64) for column in columns]


def _curve_keys(columns: Sequence[CodedColumn]) -> NDArray[np.int64]:
    """Return the keys of rows on a Z-order curve, as `bridge/write/CurveKeys.scala` makes them."""
    bits = min(_MAX_CURVE_BITS, 62 // len(columns))
    keys = np.zeros(len(columns[0].codes), np.int64)
    for place, column in enumerate(columns):
        below = column.rows_below
        ranks = (below[np.maximum(column.codes, 0)] << bits) // max(int(below[-1]), 1)
        ranks = np.where(column.codes < 0, 0, ranks)
        for bit in range(bits):
            keys |= ((ranks >> bit) & 1) << (bit * len(columns) + len(columns) - 1 - place)
    return keys


def _group_numbers(keys: Sequence[NDArray[np.int64]], count: int) -> NDArray[np.int64]:
    """Return one number for each combination of keys, in their order."""
    result = np.zeros(count, np.int64)
    for key in keys:
        dense = _dense(key)
        result = _dense(result * (int(dense.max(initial=0)) + 1) + dense)
    return result


def _dense(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers from 0 on, without gaps, in the order of the given ones."""
    if not len(numbers):
        return numbers
    least, greatest = int(numbers.min()), int(numbers.max())
    if greatest - least > 4 * len(numbers):
        return np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    present = np.zeros(greatest - least + 1, np.bool_)
    present[numbers - least] = True
    return (np.cumsum(present) - 1)[numbers - least]


def _file_starts(group: NDArray[np.int64], row_bytes: float, layout: TableLayout) -> NDArray[np.int64]:
    """Return where files begin, among rows that are sorted by their group.

    A writer begins another file of the group when one has the wanted size. A bucket is one file, unless it is
    far larger.
    """
    if not len(group):
        return np.zeros(0, np.int64)
    firsts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    sizes = np.diff(np.append(firsts, len(group)))
    full = max(layout.file_bytes / max(row_bytes, 1e-9), 1.0)
    numbers = np.maximum(1, np.ceil(sizes / full - _MIN_REST)).astype(np.int64)
    if layout.bucket_count:
        numbers = np.where(sizes > 2 * full, numbers, 1)
    if (numbers == 1).all():
        return firsts
    within = np.concatenate([np.arange(number) for number in numbers])
    starts = np.repeat(firsts, numbers) + (within * full).astype(np.int64)
    return np.unique(np.minimum(starts, np.repeat(firsts + sizes - 1, numbers)))


def _cells(column: CodedColumn, heavy: Sequence[object]) -> NDArray[np.int64]:
    positions = {value: cell for cell, value in enumerate(heavy)}
    cells = np.array([positions.get(column.value(code), _REST) for code in range(column.distinct)] + [_REST])
    return cells[column.codes].astype(np.int64)


def _buckets(columns: Sequence[CodedColumn], count: int) -> NDArray[np.int64]:
    if len(columns) == 1:
        (column,) = columns
        values: list[Value] = [*(column.value(code) for code in range(column.distinct)), None]
        return np.array([bucket_of((value,), count) for value in values], np.int64)[column.codes]
    combined = np.stack([column.codes for column in columns], axis=1)
    unique, inverse = np.unique(combined, axis=0, return_inverse=True)
    rows: list[Row] = [
        tuple(None if code < 0 else column.value(code) for column, code in zip(columns, codes, strict=True))
        for codes in unique
    ]
    return np.array([bucket_of(row, count) for row in rows], np.int64)[inverse.reshape(-1)]


def grain_codes(column: CodedColumn, grain: Grain) -> NDArray[np.int64]:
    """Return for each row a number of its partition by one column; NULL is a partition of its own.

    >>> import pyarrow as pa
    >>> from parquetry.types import parse_type
    >>> days = CodedColumn(parse_type("date"), pa.array([0, 30, 31, 400, None], pa.int32()).cast(pa.date32()))
    >>> grain_codes(days, Grain("d", MONTH, is_date=True)).tolist()
    [0, 0, 1, 13, -9223372036854775808]
    """
    if grain.unit == VALUE:
        return column.codes.astype(np.int64)
    numbers = np.asarray(column.values)
    if grain.unit == RANGE:
        groups = np.floor(numbers.astype(np.float64) / grain.width).astype(np.int64)
    else:
        days = numbers.astype(np.int64) if grain.is_date else numbers.astype(np.int64) // MICROS_PER_DAY
        dates = days.astype("datetime64[D]")
        unit = {DAY: "D", MONTH: "M", YEAR: "Y"}[grain.unit]
        groups = dates.astype(f"datetime64[{unit}]").astype(np.int64)
    return np.append(groups, np.iinfo(np.int64).min)[column.codes]


def partition_counts(sample: Sample, grains: Sequence[Grain]) -> Mapping[int, int]:
    """Return the sample's rows of each partition, by its number."""
    numbers = _group_numbers(
        [grain_codes(sample.columns[each.column], each) for each in grains], sample.count
    )
    return dict(enumerate(np.bincount(numbers).tolist()))
