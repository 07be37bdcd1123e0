"""Which files of a partition stand together in a chunk, as its list grows.

A chunk's weight says how full it is: the greater of its part of `files` and its part of `bytes`, which `Room` names.
Files that no longer fit into the partition's row become a small chunk. The chunks at the end that are lighter than 1/64
are made into one as soon as they weigh 1/64 together, those lighter than 1/8 as soon as they weigh 1/8, and so on. Of
1,000 files to a chunk, and 16 that are added at a time:

    16 16 16 16 16 16 16 + 16   ->   128                         7 chunks are rewritten
    128 128 … (7) + 128         ->   1024, a chunk that is full and left alone from now on

So each file is written again once for each level, whatever the length of the list, and there are few chunks that
are not full. A partition with very many files gets chunks of 8,000 (`room_for`), so that its own row stays small.

Where files are sorted, they are put in the order of their least values before they are cut into chunks: then few chunks
hold a value, and the others are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from parquetry.errors import ColumnNotFoundError
from parquetry.identifiers import parse_columns
from parquetry.layout.arrangement import Arrangement
from parquetry.layout.records import DataFile
from parquetry.metastore.chunk_summary import Types
from parquetry.metastore.model import FileChunk, TableMetadata

LEVELS = (1.0, 1 / 8, 1 / 64, 1 / 512)
"""Weights at which chunks are made into one."""
MANY_FULL = 256
"""Chunks of the usual size in a partition from which on they are made larger."""
_ENOUGH = 0.75
"""Of a level's weight, from which on a chunk belongs to it: bytes do not add up exactly."""
_WELL = 0.5
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
    return Room(room.files * 8, room.bytes) if count > MANY_FULL * room.files else room


def to_rewrite(chunks: Sequence[FileChunk], added: float, room: Room) -> int:
    """Return how many chunks at the end are to be made into one with what is added.

    Args:
        chunks: of the partition, in order.
        added: weight of the files that go behind them.
        room: of a chunk.

    >>> room = Room(1000, 1 << 22)
    >>> to_rewrite([FileChunk(1, n, 16) for n in range(7)], 0.016, room)
    7
    >>> to_rewrite([FileChunk(1, n, 16) for n in range(6)], 0.016, room)
    0
    """
    for level in LEVELS:
        count, taken = 0, 0.0
        for chunk in reversed(chunks):
            weight = room.weight(chunk)
            if weight >= _ENOUGH * level or taken >= level:
                break
            count, taken = count + 1, taken + weight
        if count and taken + added >= level:
            return count
    return 0


def is_cut_well(chunks: Sequence[FileChunk], room: Room) -> bool:
    """Return whether chunks are all in columns, and full save for the last."""
    return all(chunk.bytes for chunk in chunks) and all(room.weight(chunk) >= _WELL for chunk in chunks[:-1])


def sort_column(metadata: TableMetadata, arrangement: Arrangement) -> str | None:
    """Return the physical name of the column that the rows of a partition's files are sorted by first; None: by none.

    Args:
        metadata: of the table, whose property `sort-by` holds where the arrangement says nothing.
        arrangement: of the partition.
    """
    sort = arrangement.sort or (arrangement.buckets.sort if arrangement.buckets else ())
    if sort:
        return sort[0].column
    try:
        names = parse_columns(metadata.properties.get("sort-by", ""))
        return metadata.column(names[0]).physical if names else None
    except (ValueError, ColumnNotFoundError):  # a write says so; lists of files are as right in any order
        return None


def in_order(files: Iterable[DataFile], column: str | None, types: Types) -> list[DataFile]:
    """Return files in the order of their least values of a column, those where it is not known last.

    Args:
        files: in the order that they keep where the column does not tell them apart.
        column: physical name; None: they stay as they are.
        types: of the table's columns.
    """
    if column is None:
        return list(files)
    is_decimal = column.lower() in types and types[column.lower()].name == "decimal"

    def place(file: DataFile) -> tuple[Any, ...]:
        found = (file.columns or {}).get(column)
        least = None if found is None else found.min
        if is_decimal and isinstance(least, str):
            try:
                least = Decimal(least)
            except InvalidOperation:
                least = None
        return least is None, type(least).__name__, least if least is not None and least == least else 0

    return sorted(files, key=place)
