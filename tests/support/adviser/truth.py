"""Write rows under a layout with PyArrow, and count what queries read of the files by their footers.

This shares the layouts' names with the adviser, and nothing else: rows are divided, sorted and cut here, and
files are rolled at their size, as writers do.
"""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from parquetry.adviser import Grain, TableLayout

_EPOCH = datetime.date(1970, 1, 1)


class Condition(NamedTuple):
    """A condition that all values between two ends, or one of some values, satisfy."""

    column: str
    low: Any = None
    high: Any = None
    values: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        """Return it in SQL."""
        if self.values:
            return f"{self.column} IN ({', '.join(map(_literal, self.values))})"
        if self.low == self.high:
            return f"{self.column} = {_literal(self.low)}"
        parts = [f"{self.column} >= {_literal(self.low)}"] if self.low is not None else []
        parts += [f"{self.column} <= {_literal(self.high)}"] if self.high is not None else []
        return " AND ".join(parts)

    def overlaps(self, least: Any, greatest: Any) -> bool:
        """Return whether a value between two ends may satisfy it."""
        if self.values:
            return any(least <= value <= greatest for value in self.values)
        return (self.low is None or greatest >= self.low) and (self.high is None or least <= self.high)


def _literal(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value:%Y-%m-%d}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


class WrittenFile(NamedTuple):
    """A file by its footer: bytes of columns, least and greatest values, and its slot."""

    path: Path
    bytes: dict[str, int]
    bounds: dict[str, tuple[Any, Any]]
    bucket: int | None
    heavy: Any
    partition: tuple[Any, ...]


class WrittenTable:
    """The files of a table in a folder, as their footers describe them."""

    def __init__(self, layout: TableLayout, files: Sequence[WrittenFile]) -> None:
        self.layout, self.files = layout, list(files)

    def read(self, conditions: Sequence[Condition], columns: Sequence[str]) -> tuple[int, int]:
        """Return the bytes and the files that a query reads."""
        kept = [file for file in self.files if all(self._may_have(file, each) for each in conditions)]
        return sum(file.bytes.get(name, 0) for file in kept for name in columns), len(kept)

    @property
    def bytes(self) -> int:
        """Return the bytes of all columns."""
        return sum(sum(file.bytes.values()) for file in self.files)

    def rewrite(self, paths: Collection[str], layout: TableLayout, folder: Path) -> tuple[WrittenTable, int]:
        """Write some files anew under a layout; return the table as it is then, and their bytes.

        Args:
            paths: of the files.
            layout: of their rows.
            folder: for the new files. It must be new.
        """
        anew = [file for file in self.files if str(file.path) in paths]
        kept = [file for file in self.files if str(file.path) not in paths]
        rows = pa.concat_tables([pq.ParquetFile(file.path).read() for file in anew])
        written = write_layout(rows, layout, folder)
        for file in anew:
            file.path.unlink()
        size = sum(sum(file.bytes.values()) for file in anew)
        return WrittenTable(layout, [*kept, *written.files]), size

    def _may_have(self, file: WrittenFile, condition: Condition) -> bool:
        bounds = file.bounds.get(condition.column)
        if bounds is not None and not condition.overlaps(*bounds):
            return False
        values = condition.values or ((condition.low,) if condition.low == condition.high else ())
        if values and file.bucket is not None and self.layout.bucket_by == (condition.column,):
            return any(_hash(value) % self.layout.bucket_count == file.bucket for value in values)
        heavy = self.layout.heavy
        if values and heavy is not None and heavy.column == condition.column and file.heavy is None:
            return not set(values) <= set(heavy.values)
        return True


def write_layout(rows: pa.Table, layout: TableLayout, folder: Path, codec: str = "snappy") -> WrittenTable:
    """Write rows under a layout, and read the footers."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files: list[WrittenFile] = []
    groups = [(key, rows.take(pa.array(indices))) for key, indices in _groups(rows, layout)]
    dropped = [grain.column for grain in layout.partition if grain.unit == "value"]
    width = _row_bytes(max((group for _, group in groups), key=len), layout, dropped, codec)
    for number, ((partition, cell, bucket), group) in enumerate(groups):
        ordered = _sorted(group, layout)
        size = max(1, int(layout.file_bytes / width)) if bucket is None else ordered.num_rows
        for start in range(0, ordered.num_rows, size):
            path = folder / f"{number:05d}-{start:09d}.parquet"
            piece = ordered.slice(start, size)
            pq.write_table(piece.drop_columns(dropped), path, compression=codec)
            shared = {
                grain.column: (value, value)
                for grain, value in zip(layout.partition, partition, strict=True)
                if grain.unit == "value"
            }
            files.append(_footer(path, shared, bucket, cell, partition))
    return WrittenTable(layout, files)


def _row_bytes(rows: pa.Table, layout: TableLayout, dropped: Sequence[str], codec: str) -> float:
    """Return the bytes of a row in a file of about the wanted size, in the layout's order."""
    ordered = _sorted(rows, layout).drop_columns(dropped)
    width = max(ordered.nbytes / ordered.num_rows, 1.0)
    for _ in range(3):
        count = max(1, min(ordered.num_rows, int(layout.file_bytes / width)))
        sink = pa.BufferOutputStream()
        pq.write_table(ordered.slice((ordered.num_rows - count) // 2, count), sink, compression=codec)
        width = float(sink.getvalue().size) / count
    return float(width)


def _footer(path: Path, shared: dict[str, Any], bucket: int | None, cell: Any, partition: Any) -> WrittenFile:
    metadata = pq.ParquetFile(path).metadata
    sizes: dict[str, int] = {}
    bounds: dict[str, tuple[Any, Any]] = dict(shared)
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            column = metadata.row_group(group).column(index)
            name = column.path_in_schema
            sizes[name] = sizes.get(name, 0) + column.total_compressed_size
            statistics = column.statistics
            low, high = _plain(statistics.min), _plain(statistics.max)
            before = bounds.get(name, (low, high))
            bounds[name] = (min(before[0], low), max(before[1], high))
    return WrittenFile(path, sizes, bounds, bucket, cell, partition)


def _plain(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value


def _groups(rows: pa.Table, layout: TableLayout) -> Iterator[tuple[tuple[Any, Any, int | None], Any]]:
    """Yield the partition, heavy value and bucket of rows, with the rows' positions."""
    keys = [_grain_values(rows[grain.column], grain) for grain in layout.partition]
    if layout.heavy is not None:
        values = rows[layout.heavy.column]
        is_heavy = pc.is_in(values, value_set=pa.array(layout.heavy.values, values.type))
        keys.append(pc.if_else(is_heavy, values, pa.scalar(None, values.type)))
    if layout.bucket_count:
        (name,) = layout.bucket_by
        coded = rows[name].combine_chunks().dictionary_encode()
        buckets = pa.array([_hash(value) % layout.bucket_count for value in coded.dictionary.to_pylist()])
        keys.append(buckets.take(coded.indices))
    if not keys:
        yield ((), None, None), np.arange(rows.num_rows)
        return
    coded_keys = [pa.chunked_array([key]) if isinstance(key, pa.Array) else key for key in keys]
    dense = [key.combine_chunks().dictionary_encode(null_encoding="encode") for key in coded_keys]
    numbers = np.zeros(rows.num_rows, np.int64)
    for key in dense:
        numbers = numbers * max(len(key.dictionary), 1) + key.indices.to_numpy()
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(numbers[order]) != 0]))
    for positions in np.split(order, starts[1:]):
        values = [_plain(key.dictionary[key.indices[int(positions[0])].as_py()].as_py()) for key in dense]
        bucket = values.pop() if layout.bucket_count else None
        heavy = values.pop() if layout.heavy is not None else None
        yield (tuple(values), heavy, bucket), positions


def _hash(value: Any) -> int:
    return (hash(("bucket", value)) * 2654435761) >> 7


def _grain_values(array: pa.ChunkedArray, grain: Grain) -> Any:
    if grain.unit == "range":
        return pc.divide(array, pa.scalar(grain.width, array.type))  # of numbers from 0 on
    if grain.unit == "value":
        return array
    return pc.strftime(array, format={"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}[grain.unit])


def _sorted(rows: pa.Table, layout: TableLayout) -> pa.Table:
    if not layout.sort:
        return rows
    if layout.is_curve:
        return rows.take(pa.array(np.argsort(_curve(rows, layout.sort), kind="stable")))
    return rows.sort_by([(name, "ascending") for name in layout.sort])


def _curve(rows: pa.Table, names: Sequence[str]) -> Any:
    """Return places on a Z-order curve: eight bits of each rank, in turn, the highest first.

    Equal values have one rank, as in files that Spark writes.
    """
    places = np.zeros(rows.num_rows, np.int64)
    ranks = [
        pc.rank(rows[name].combine_chunks(), tiebreaker="max").to_numpy() * 256 // (rows.num_rows + 1)
        for name in names
    ]
    for bit in range(7, -1, -1):
        for rank in ranks:
            places = places * 2 + (rank >> bit) % 2
    return places
