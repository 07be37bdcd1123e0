"""The bytes of a chunk in columns. Each column is decoded only when it is needed.

The value is the byte `c1` and then an array of msgpack. No list of records begins with `c1`.

| field                             | encoding                                                            |
|-----------------------------------|---------------------------------------------------------------------|
| `count`                           | number of files                                                     |
| `paths`                           | their common prefix, the common suffix, and the rests, with NULs    |
| `bytes`, `rows`, `modified`       | numbers, packed by `encoding`                                       |
| `cells`, `buckets`                | numbers, packed by `encoding`                                       |
| `sorted`, `described`             | bitmaps                                                             |
| `{name: statistics of a column}`  | for each column the bytes of a `_PackedColumn`                      |

The numbers of an earlier rest (`FileRecord.rest_of`) are stored as the NULL counts of a column with a name
that no real column has, and so are the numbers of `FileRecord.field_ids`. Libraries that do not know these
numbers never read that column.

A chunk of format 1 is the msgpack of a list of records, as in a partition's row. `chunks` reads both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import chain
from typing import ParamSpec, TypeVar

import msgspec
import numpy as np

from parquetry.data_files import (
    NO_CELL,
    UNKNOWN,
    Belief,
    FileColumns,
    Flags,
    Indices,
    Numbers,
    StatisticsColumn,
    Trust,
    without_earlier_rest,
)
from parquetry.errors import MetastoreDamagedError
from parquetry.metastore.manifest import encoding
from parquetry.metastore.storage.wire import encode

MARK = b"\xc1"
"""The first byte of a chunk in columns: msgpack never uses it."""

_PATHS_PER_PICKED_PATH = 8
"""Paths per wanted path. If a chunk has at least so many, the wanted paths are cut out one by one, which is
faster than splitting all of them."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _PackedColumn(msgspec.Struct, frozen=True, array_like=True):
    """A `StatisticsColumn`, with None for an array without a known value."""

    there: encoding.Bitmap = True
    size: encoding.Packed | None = None
    nulls: encoding.Packed | None = None
    min: encoding.Packed | None = None
    max: encoding.Packed | None = None
    min_exact: encoding.Bitmap = True
    max_exact: encoding.Bitmap = True
    trust: encoding.Packed | None = None
    stored: str | list[str | None] | None = None
    """The type in all files, or in each of them; None if it is the table's."""
    distinct: encoding.Packed | None = None


class _Chunk(msgspec.Struct, frozen=True, array_like=True):
    """The fields of a chunk; see the module."""

    count: int
    paths: bytes | list[str]
    sizes: encoding.Packed | None
    rows: encoding.Packed | None
    modified: encoding.Packed | None
    cells: encoding.Packed | None
    buckets: encoding.Packed | None
    sorted: encoding.Bitmap
    described: encoding.Bitmap
    columns: dict[str, memoryview]


_ABSENT_COLUMN = _PackedColumn(there=False)
"""Stands for a column that no file of a chunk has statistics of."""

_REST_OF = "\0rest of"
"""The column name for the numbers of an earlier rest; see the module."""

_FIELD_IDS = "\0field ids"
"""The column name for what is known of field ids; see the module."""

_chunk = msgspec.msgpack.Decoder(_Chunk)
_column = msgspec.msgpack.Decoder(_PackedColumn)


def encode_columns(files: FileColumns) -> bytes:
    """Return the bytes of a chunk that lists these files."""
    cells, buckets, in_order = files.arranged or (None, None, None)
    packed = {name: _pack(column) for name in files.names if (column := files.statistics(name)) is not None}
    if cells is not None:
        cells, rest_of = without_earlier_rest(cells)
        if (earlier := encoding.pack_numbers(rest_of)) is not None:
            packed[_REST_OF] = _PackedColumn(there=False, nulls=earlier)
    if (ids := encoding.pack_numbers(files.field_ids)) is not None:
        packed[_FIELD_IDS] = _PackedColumn(there=False, nulls=ids)
    chunk = _Chunk(
        files.count,
        _join(files.paths),
        encoding.pack_numbers(files.bytes),
        encoding.pack_numbers(files.rows),
        encoding.pack_numbers(files.modified),
        None if cells is None else encoding.pack_numbers(cells),
        None if buckets is None else encoding.pack_numbers(buckets),
        False if in_order is None else encoding.pack_flags(in_order),
        encoding.pack_flags(files.described),
        {name: memoryview(encode(column)) for name, column in packed.items()},
    )
    return MARK + encode(chunk)


def _pack(column: StatisticsColumn) -> _PackedColumn:
    return _PackedColumn(
        encoding.pack_flags(column.there),
        encoding.pack_numbers(column.size),
        encoding.pack_numbers(column.nulls),
        encoding.pack_bound(column.min),
        encoding.pack_bound(column.max),
        encoding.pack_flags(column.belief.min_exact),
        encoding.pack_flags(column.belief.max_exact),
        encoding.pack_numbers(column.belief.trust) if column.belief.trust.any() else None,
        _pack_types(column.belief.stored),
        None if column.distinct is None else encoding.pack_numbers(column.distinct),
    )


def _pack_types(types: Sequence[str | None] | None) -> str | list[str | None] | None:
    if types is None:
        return None
    return types[0] if types[0] is not None and len(set(types)) == 1 else list(types)


def _reports_damage(read: Callable[_P, _T]) -> Callable[_P, _T]:
    """Wrap a function that reads a chunk, so that damaged bytes raise a MetastoreDamagedError."""

    @functools.wraps(read)
    def reading(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return read(*args, **kwargs)
        except encoding.DAMAGE as error:
            raise MetastoreDamagedError(
                f"A list of files in the metastore cannot be read: {error}. Another program has written there: CALL "
                "system.fsck shows what is affected, parquetry restore brings back a dump."
            ) from None

    return reading


class ChunkColumns(FileColumns):
    """The files of one or more chunks, decoded from their bytes, in the order of the chunks.

    Args:
        values: values of the chunks' rows, at least one.

    Attributes:
        counts: number of files of each chunk.

    Raises:
        MetastoreDamagedError: the bytes of a chunk are damaged. All methods may raise it.
    """

    @_reports_damage
    def __init__(self, *values: bytes | memoryview) -> None:
        self._chunks = [_decode(value) for value in values]
        self.counts = [chunk.count for chunk in self._chunks]
        self._ends: Indices = np.cumsum(self.counts)
        self.count = sum(self.counts)
        self.bytes = encoding.numbers_together([chunk.sizes for chunk in self._chunks], self.counts)
        self.rows = encoding.numbers_together([chunk.rows for chunk in self._chunks], self.counts)
        self.modified = encoding.numbers_together([chunk.modified for chunk in self._chunks], self.counts)
        self.names: Sequence[str] = tuple(
            name
            for name in dict.fromkeys(chain.from_iterable([chunk.columns for chunk in self._chunks]))
            if name not in (_REST_OF, _FIELD_IDS)
        )
        self.described = encoding.flags_together([chunk.described for chunk in self._chunks], self.counts)

    @property
    @_reports_damage
    def paths(self) -> list[str]:
        """Return the paths."""
        return [path for chunk in self._chunks for path in _paths(chunk)]

    @_reports_damage
    def paths_at(self, positions: Indices) -> list[str]:
        """Return the paths of some of the files."""
        if np.all(positions[1:] > positions[:-1]):
            return self._paths_in_order(positions)
        ascending, back = np.unique(positions, return_inverse=True)
        paths = self._paths_in_order(ascending)
        return [paths[position] for position in back.tolist()]

    def _paths_in_order(self, positions: Indices) -> list[str]:
        """Return the paths of files at ascending positions."""
        starts = self._ends - self.counts
        firsts, stops = np.searchsorted(positions, starts), np.searchsorted(positions, self._ends)
        paths: list[str] = []
        for number in np.flatnonzero(stops > firsts).tolist():
            chunk, first, stop = self._chunks[number], firsts[number], stops[number]
            whole = stop - first == chunk.count
            paths += _paths(chunk) if whole else _paths_at(chunk, positions[first:stop] - starts[number])
        return paths

    @property
    @_reports_damage
    def arranged(self) -> tuple[Numbers, Numbers, Flags] | None:
        """Return the cell, the bucket and the sorted flag of each file, or None if no file has any."""
        chunks, counts = self._chunks, self.counts
        is_earlier = any(_REST_OF in chunk.columns for chunk in chunks)
        if not is_earlier and all(
            each.cells is None and each.buckets is None and each.sorted is False for each in chunks
        ):
            return None
        cells = encoding.numbers_together([chunk.cells for chunk in chunks], counts)
        if is_earlier:
            rest_of = self._hidden_numbers(_REST_OF)
            cells = np.where(rest_of == UNKNOWN, cells, NO_CELL - rest_of)
        return (
            cells,
            encoding.numbers_together([chunk.buckets for chunk in chunks], counts),
            encoding.flags_together([chunk.sorted for chunk in chunks], counts),
        )

    @property
    @_reports_damage
    def field_ids(self) -> Numbers:
        """Return what is known of the field ids in each file."""
        return self._hidden_numbers(_FIELD_IDS)

    def _hidden_numbers(self, name: str) -> Numbers:
        """Return the numbers that are stored as the NULL counts of a column that no file has."""
        encoded = [chunk.columns.get(name) for chunk in self._chunks]
        packed = [None if data is None else _column.decode(data).nulls for data in encoded]
        return encoding.numbers_together(packed, self.counts)

    @_reports_damage
    def statistics(self, name: str) -> StatisticsColumn | None:
        """Return the files' statistics of a column, or None if no file has any."""
        return _statistics(self._chunks, name, None)

    @_reports_damage
    def statistics_at(self, name: str, positions: Indices) -> StatisticsColumn | None:
        """Return the statistics of some of the files. Arrays are made for these files only."""
        if len(self._chunks) == 1:
            return _statistics(self._chunks, name, positions)
        chunk_of = np.searchsorted(self._ends, positions, side="right")
        used, rank = np.unique(chunk_of, return_inverse=True)
        if not len(used):
            return None
        chunks = [self._chunks[number] for number in used.tolist()]
        ends = np.cumsum([chunk.count for chunk in chunks])
        return _statistics(chunks, name, positions - self._ends[chunk_of] + ends[rank])


def _decode(value: bytes | memoryview) -> _Chunk:
    chunk = _chunk.decode(memoryview(value)[len(MARK) :])
    listed = len(chunk.paths) if isinstance(chunk.paths, list) else chunk.paths.count(b"\0") - 1
    if listed != chunk.count:  # checked before any array of this length is made
        raise ValueError(f"{chunk.count} files have {listed} paths")
    return chunk


def _statistics(chunks: Sequence[_Chunk], name: str, positions: Indices | None) -> StatisticsColumn | None:
    """Return the statistics of a column of all files of chunks, or of the files at some positions."""
    decoded = [
        None if (data := chunk.columns.get(name)) is None else _column.decode(data) for chunk in chunks
    ]
    columns = [_ABSENT_COLUMN if column is None else column for column in decoded]
    if all(column is None for column in decoded):
        return None
    counts = [chunk.count for chunk in chunks]
    return StatisticsColumn(
        encoding.flags_together([column.there for column in columns], counts, positions),
        encoding.numbers_together([column.size for column in columns], counts, positions),
        encoding.numbers_together([column.nulls for column in columns], counts, positions),
        encoding.bounds_together([column.min for column in columns], counts, positions),
        encoding.bounds_together([column.max for column in columns], counts, positions),
        Belief(
            encoding.flags_together([column.min_exact for column in columns], counts, positions),
            encoding.flags_together([column.max_exact for column in columns], counts, positions),
            np.maximum(
                encoding.numbers_together([column.trust for column in columns], counts, positions),
                Trust.UNKNOWN,
            ),
            _types_together([column.stored for column in columns], counts, positions),
        ),
    ).with_distinct(
        encoding.numbers_together([column.distinct for column in columns], counts, positions)
        if any(column.distinct is not None for column in columns)
        else None
    )


def _types_together(
    packed: Sequence[str | list[str | None] | None], counts: Sequence[int], positions: Indices | None
) -> list[str | None] | None:
    """Return the type in each file, or None if no file has another type than the table."""
    if not any(packed):
        return None
    types = [
        each
        for stored, count in zip(packed, counts, strict=True)
        for each in (stored if isinstance(stored, list) else [stored] * count)
    ]
    if len(types) != sum(counts):
        raise ValueError(f"{sum(counts)} files have {len(types)} types")
    return types if positions is None else [types[position] for position in positions.tolist()]


def _paths(chunk: _Chunk) -> list[str]:
    return chunk.paths if isinstance(chunk.paths, list) else _split(chunk.paths)


def _paths_at(chunk: _Chunk, positions: Indices) -> list[str]:
    if isinstance(chunk.paths, list) or len(positions) > chunk.count // _PATHS_PER_PICKED_PATH:
        paths = _paths(chunk)
        return [paths[position] for position in positions.tolist()]
    return _pick(chunk.paths, positions)


def _join(paths: Sequence[str]) -> bytes | list[str]:
    """Join paths: the common prefix, the common suffix and each rest, with a NUL after each but the last.

    >>> _join(["a/1.parquet", "a/2.parquet"])
    b'a/\\x00.parquet\\x001\\x002'
    """
    if not paths or any("\0" in path for path in paths):
        return list(paths)
    prefix = _common(paths)
    rests = [path[len(prefix) :] for path in paths]
    suffix = _common([rest[::-1] for rest in rests])[::-1]
    return "\0".join([prefix, suffix, *(rest[: len(rest) - len(suffix)] for rest in rests)]).encode()


def _common(texts: Sequence[str]) -> str:
    """Return the common prefix of texts, at least one: the common prefix of the least and the greatest."""
    first, last = min(texts), max(texts)
    differ = (
        position for position, (one, other) in enumerate(zip(first, last, strict=False)) if one != other
    )
    return first[: next(differ, len(first))]


def _split(joined: bytes) -> list[str]:
    """Return all paths of a joined text."""
    prefix, suffix, rests = joined.decode().split("\0", 2)
    return f"{prefix}{rests.replace(chr(0), f'{suffix}{chr(0)}{prefix}')}{suffix}".split("\0")


def _pick(joined: bytes, positions: Indices) -> list[str]:
    """Return some of the paths of a joined text.

    >>> _pick(_join(["a/1.parquet", "a/23.parquet", "a/4.parquet"]), np.array([1, 2]))
    ['a/23.parquet', 'a/4.parquet']
    """
    ends = np.append(np.flatnonzero(np.frombuffer(joined, np.uint8) == 0), len(joined))
    rests = zip(ends[positions + 1].tolist(), ends[positions + 2].tolist(), strict=True)
    prefix, suffix = joined[: ends[0]], joined[ends[0] + 1 : ends[1]]
    return [(prefix + joined[start + 1 : stop] + suffix).decode() for start, stop in rests]


def with_paths(value: bytes, change: Callable[[list[str]], list[str] | None]) -> bytes:
    """Return the bytes of a chunk in columns with other paths, or the same bytes if no path changes.

    Args:
        value: the bytes of a chunk in columns.
        change: returns the new paths for the old ones, or None if no path changes.

    Raises:
        MetastoreDamagedError: the bytes are not a chunk.
    """
    changed = change(ChunkColumns(value).paths)
    if changed is None:
        return value
    fields: list[msgspec.Raw] = msgspec.msgpack.decode(memoryview(value)[len(MARK) :], type=list[msgspec.Raw])
    return MARK + encode([fields[0], _join(changed), *fields[2:]])


def is_in_columns(value: bytes) -> bool:
    """Return whether the bytes of a chunk are in columns, and not a list of records."""
    return value[:1] == MARK
