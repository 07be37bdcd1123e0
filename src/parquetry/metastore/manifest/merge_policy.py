"""Which files of a partition stand together in a chunk, as its list grows.

A chunk's weight says how full it is: the greater of its part of `files` and its part of `bytes`, which `Room` names.
Files that no longer fit into the partition's row become a small chunk. The chunks at the end that are lighter than 1/27
are made into one as soon as they weigh 1/27 together, those lighter than 1/9 as soon as they weigh 1/9, and so on. Of
1,000 files to a chunk, and 16 that are added at a time:

    16 16 + 16                   ->   48       2 chunks are rewritten
    112 112 48 48 + 16           ->   336      4 are
    336 336 112 112 48 48 + 16   ->   1000 8   6 are; the first one now is full, and is left alone from now on

So each file is written again at most once for each level, whatever the length of the list. Besides, short chunks at the
end are always made into one, as long as no more than 32 times the bytes that are added have to be written for it, and no
more than 64 KiB: 1,000 files without statistics take 25 KiB. A reader of 30 partitions with 700 files each, appended
one by one, so finds one chunk in each; with levels alone there were four, and it took him half as long again. Of longer
chunks three are not full, on average. A partition with very many files gets chunks of 8,000 (`room_for`), so that its own row stays small.

Where files are sorted, they are put in the order of their least values before they are cut into chunks: then few chunks
hold a value, and the others are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from parquetry.data_files import FileRecord
from parquetry.errors import ColumnNotFoundError
from parquetry.identifiers import parse_paths
from parquetry.layout import ArrangementSpec
from parquetry.metastore.manifest.summary import Types
from parquetry.metastore.storage import FileChunk, TableMetadata

LEVELS = (1.0, 1 / 3, 1 / 9, 1 / 27, 1 / 81, 1 / 243)
"""Weights at which chunks are made into one."""
MAX_FULL_CHUNKS = 256
"""Chunks of the usual size in a partition from which on they are made larger."""
MAX_TAIL_BYTES = 64 << 10
"""Of the chunks at the end that are made into one whenever files are added."""
TAIL_BYTES_PER_ADDED_BYTE = 32
"""How many times the bytes that are added these take at most."""
_MIN_LEVEL_SHARE = 0.75
"""Of a level's weight, from which on a chunk belongs to it: bytes do not add up exactly."""
_MIN_CHUNK_WEIGHT = 0.5
"""The weight of chunks that are not cut anew: they are cut by what a file takes on average, and few take just that."""


class Room(msgspec.Struct, frozen=True):
    """What a chunk has room for: so many files, or so many bytes."""

    files: int
    bytes: int

    def weight(self, chunk: FileChunk) -> float:
        """Return how full a chunk is; 1 is full."""
        return max(chunk.files / self.files, chunk.bytes / self.bytes)

    def holds(self, size: float) -> int:
        """Return how many files fill a chunk, given how many bytes each takes on average."""
        return max(1, min(self.files, int(self.bytes / size)))


def room_for(room: Room, count: int) -> Room:
    """Return the room of the chunks of a partition with so many files."""
    return Room(room.files * 8, room.bytes) if count > MAX_FULL_CHUNKS * room.files else room


def to_rewrite(chunks: Sequence[FileChunk], files: int, size: int, room: Room) -> int:
    """Return how many chunks at the end are to be made into one with what is added.

    Args:
        chunks: of the partition, in order.
        files: how many go behind them.
        size: bytes that they take.
        room: of a chunk.

    >>> room = Room(1000, 1 << 22)
    >>> to_rewrite([FileChunk(1, n, 16, 8000) for n in range(2)], 16, 16000, room)
    2
    >>> to_rewrite([FileChunk(1, n, 100, 40000) for n in range(2)], 16, 16000, room)
    1
    >>> to_rewrite([FileChunk(1, n, 100, 40000) for n in range(2)], 16, 800, room)
    0
    """
    added = max(files / room.files, size / room.bytes)
    return max(
        _chunks_in_level(chunks, added, room),
        _chunks_in_tail(chunks, added, min(MAX_TAIL_BYTES, TAIL_BYTES_PER_ADDED_BYTE * size), room),
    )


def _chunks_in_tail(chunks: Sequence[FileChunk], added: float, most: int, room: Room) -> int:
    """Return how many short chunks there are at the end, of so many bytes at most; one that is nearly full is, if what is added fits in."""
    count, weight, size = 0, added, 0
    for chunk in reversed(chunks):
        weight += room.weight(chunk)
        size += chunk.bytes
        if not chunk.bytes or size > most or (room.weight(chunk) >= _MIN_LEVEL_SHARE and weight > 1):
            break
        count += 1
    return count


def _chunks_in_level(chunks: Sequence[FileChunk], added: float, room: Room) -> int:
    """Return how many chunks at the end fill one of a level together with what is added, by its weight."""
    for level in LEVELS:
        count, total = 0, 0.0
        for chunk in reversed(chunks):
            weight = room.weight(chunk)
            if weight >= _MIN_LEVEL_SHARE * level or total >= level:
                break
            count, total = count + 1, total + weight
        if count and total + added >= level:
            return count
    return 0


def is_well_divided(chunks: Sequence[FileChunk], room: Room) -> bool:
    """Return whether chunks are all in columns, and full save for the last."""
    return all(chunk.bytes for chunk in chunks) and all(
        room.weight(chunk) >= _MIN_CHUNK_WEIGHT for chunk in chunks[:-1]
    )


def sort_column(metadata: TableMetadata, arrangement: ArrangementSpec) -> str | None:
    """Return the physical name of the column that the rows of a partition's files are sorted by first; None: by none.

    Args:
        metadata: of the table, whose property `sort-by` holds where the arrangement says nothing.
        arrangement: of the partition.
    """
    sort = arrangement.sort or (arrangement.buckets.sort if arrangement.buckets else ())
    if sort:
        return sort[0].column
    try:
        first = parse_paths(metadata.properties.get("sort-by", ""))[0]
        return metadata.column(".".join(first)).physical
    except (
        ValueError,
        ColumnNotFoundError,
    ):  # a field, or none: a write says so; lists of files are as right in any order
        return None


def files_in_order(files: Iterable[FileRecord], column: str | None, types: Types) -> list[FileRecord]:
    """Return files in the order of their least values of a column, those where it is not known last.

    Args:
        files: in the order that they keep where the column does not tell them apart.
        column: physical name; None: they stay as they are.
        types: of the table's columns.
    """
    if column is None:
        return list(files)
    is_decimal = column.lower() in types and types[column.lower()].name == "decimal"

    def sort_key(file: FileRecord) -> tuple[Any, ...]:
        statistics = (file.columns or {}).get(column)
        least = None if statistics is None else statistics.min
        if is_decimal and isinstance(least, str):
            try:
                least = Decimal(least)
            except InvalidOperation:
                least = None
        return least is None, type(least).__name__, least if least is not None and least == least else 0

    return sorted(files, key=sort_key)
