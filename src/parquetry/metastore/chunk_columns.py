"""The bytes of a chunk, part of a long list of files: in columns, each of which is decoded when it is asked for.

    c1                                      which no list of records begins with
    [count,
     paths,                                 their common prefix, their common suffix, and the rests, joined by NUL
     bytes, rows, modified,                 `packed` numbers
     cells, buckets, sorted, described,
     {name: statistics of this column}]     bytes that hold a `_Column`

A chunk of format 1 is the msgpack of a list of records, as in a partition's row; `chunks` reads both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

import msgspec
import numpy as np

from parquetry.errors import MetastoreDamagedError
from parquetry.layout.file_columns import FileColumns, Flags, Numbers, Places, StatisticsColumn
from parquetry.metastore.packed import (
    DAMAGE,
    Bitmap,
    Packed,
    pack_bound,
    pack_flags,
    pack_numbers,
    unpack_bound,
    unpack_flags,
    unpack_numbers,
)
from parquetry.metastore.wire import encode

MARK = b"\xc1"
"""The first byte of a chunk in columns: msgpack never uses it."""

_FEW = 8
"""Of so many paths one is found sooner by where it ends than by splitting them all."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Column(msgspec.Struct, frozen=True, array_like=True):
    """A `StatisticsColumn`; None where nothing is known."""

    there: Bitmap = True
    size: Packed | None = None
    nulls: Packed | None = None
    min: Packed | None = None
    max: Packed | None = None
    min_exact: Bitmap = True
    max_exact: Bitmap = True


class _Chunk(msgspec.Struct, frozen=True, array_like=True):
    """The whole of a chunk; see the module."""

    count: int
    paths: bytes | list[str]
    sizes: Packed | None
    rows: Packed | None
    modified: Packed | None
    cells: Packed | None
    buckets: Packed | None
    sorted: Bitmap
    described: Bitmap
    columns: dict[str, memoryview]


_chunk = msgspec.msgpack.Decoder(_Chunk)
_column = msgspec.msgpack.Decoder(_Column)


def encode_columns(files: FileColumns) -> bytes:
    """Return the bytes of a chunk that lists these files."""
    cells, buckets, in_order = files.arranged or (None, None, None)
    columns = ((name, files.statistics(name)) for name in files.names)
    chunk = _Chunk(
        files.count,
        _join(files.paths),
        pack_numbers(files.bytes),
        pack_numbers(files.rows),
        pack_numbers(files.modified),
        None if cells is None else pack_numbers(cells),
        None if buckets is None else pack_numbers(buckets),
        False if in_order is None else pack_flags(in_order),
        pack_flags(files.described),
        {name: memoryview(encode(_pack(column))) for name, column in columns if column is not None},
    )
    return MARK + encode(chunk)


def _pack(column: StatisticsColumn) -> _Column:
    return _Column(
        pack_flags(column.there),
        pack_numbers(column.size),
        pack_numbers(column.nulls),
        pack_bound(column.min),
        pack_bound(column.max),
        pack_flags(column.min_exact),
        pack_flags(column.max_exact),
    )


def _told(read: Callable[_P, _T]) -> Callable[_P, _T]:
    """Have a function that reads a chunk say of damaged bytes that they are."""

    @functools.wraps(read)
    def reading(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return read(*args, **kwargs)
        except DAMAGE as error:
            raise MetastoreDamagedError(
                f"A list of files in the metastore cannot be read: {error}. Something else than Parquetry has "
                "written there: CALL system.fsck tells what is affected, parquetry restore brings back a dump."
            ) from None

    return reading


class ChunkColumns(FileColumns):
    """The files of a chunk, from its bytes.

    Raises:
        MetastoreDamagedError: here and in all methods: the bytes are those of no chunk.
    """

    @_told
    def __init__(self, value: bytes) -> None:
        chunk = _chunk.decode(memoryview(value)[len(MARK) :])
        listed = len(chunk.paths) if isinstance(chunk.paths, list) else chunk.paths.count(b"\0") - 1
        if listed != chunk.count:  # nor is any array made of so many
            raise ValueError(f"{chunk.count} files have {listed} paths")
        self._chunk = chunk
        self.count = chunk.count
        self.bytes = unpack_numbers(chunk.sizes, chunk.count)
        self.rows = unpack_numbers(chunk.rows, chunk.count)
        self.modified = unpack_numbers(chunk.modified, chunk.count)
        self.names: Sequence[str] = tuple(chunk.columns)
        self.described = unpack_flags(chunk.described, chunk.count)

    @property
    @_told
    def paths(self) -> list[str]:
        """Return the paths."""
        paths = self._chunk.paths
        return paths if isinstance(paths, list) else _split(paths)

    @_told
    def paths_at(self, places: Places) -> list[str]:
        """Return the paths of some of the files."""
        paths = self._chunk.paths
        if isinstance(paths, list) or len(places) > self.count // _FEW:
            return super().paths_at(places)
        return _pick(paths, places)

    @property
    @_told
    def arranged(self) -> tuple[Numbers, Numbers, Flags] | None:
        """Return cells, buckets, and which are sorted."""
        chunk, count = self._chunk, self.count
        if chunk.cells is None and chunk.buckets is None and chunk.sorted is False:
            return None
        return (
            unpack_numbers(chunk.cells, count),
            unpack_numbers(chunk.buckets, count),
            unpack_flags(chunk.sorted, count),
        )

    def statistics(self, name: str) -> StatisticsColumn | None:
        """Return what the files say of a column."""
        return self._statistics(name, None)

    def statistics_at(self, name: str, places: Places) -> StatisticsColumn | None:
        """Return what some of the files say; what the others do is not made into arrays."""
        return self._statistics(name, places)

    @_told
    def _statistics(self, name: str, places: Places | None) -> StatisticsColumn | None:
        data = self._chunk.columns.get(name)
        if data is None:
            return None
        column, count = _column.decode(data), self.count
        return StatisticsColumn(
            unpack_flags(column.there, count, places),
            unpack_numbers(column.size, count, places),
            unpack_numbers(column.nulls, count, places),
            unpack_bound(column.min, count, places),
            unpack_bound(column.max, count, places),
            unpack_flags(column.min_exact, count, places),
            unpack_flags(column.max_exact, count, places),
        )


def _join(paths: Sequence[str]) -> bytes | list[str]:
    """Return paths in one: the common prefix, the common suffix and each rest, a NUL after each but the last.

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
    """Return what all texts begin with, at least one: what the first and the last in their order do."""
    first, last = min(texts), max(texts)
    differ = (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(differ, len(first))]


def _split(joined: bytes) -> list[str]:
    """Return the paths that were joined."""
    prefix, suffix, rests = joined.decode().split("\0", 2)
    return f"{prefix}{rests.replace(chr(0), f'{suffix}{chr(0)}{prefix}')}{suffix}".split("\0")


def _pick(joined: bytes, places: Places) -> list[str]:
    """Return some of the paths that were joined.

    >>> _pick(_join(["a/1.parquet", "a/23.parquet", "a/4.parquet"]), np.array([1, 2]))
    ['a/23.parquet', 'a/4.parquet']
    """
    ends = np.append(np.flatnonzero(np.frombuffer(joined, np.uint8) == 0), len(joined))
    rests = zip(ends[places + 1].tolist(), ends[places + 2].tolist(), strict=True)
    prefix, suffix = joined[: ends[0]], joined[ends[0] + 1 : ends[1]]
    return [(prefix + joined[start + 1 : stop] + suffix).decode() for start, stop in rests]


def is_in_columns(value: bytes) -> bool:
    """Return whether the bytes of a chunk are in columns, and not a list of records."""
    return value[:1] == MARK
