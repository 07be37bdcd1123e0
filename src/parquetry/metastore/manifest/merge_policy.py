"""The merge policy of chunks: which files of a partition are in one chunk, as its list grows.

It is a leveled merge. The weight of a chunk says how full it is: 1 is full (`Room.weight`). Files that no
longer fit into the partition's row become a small chunk. Once the last chunks that are each lighter than 1/27
together weigh 1/27, they are merged. The same holds for 1/9, for 1/3 and for 1.

Example: a chunk has room for 1,000 files, and each move adds 16.

| chunks before                | after    | rewritten                                        |
|------------------------------|----------|--------------------------------------------------|
| `16 16` + 16                 | `48`     | 2 chunks                                         |
| `112 112 48 48` + 16         | `336`    | 4 chunks                                         |
| `336 336 112 112 48 48` + 16 | `1000 8` | 6 chunks; the first is full and never changes again |

So each file is rewritten at most once for each level, however long the list is.

**Short tails.** The short chunks at the end are also merged on each move, as long as this rewrites at most 32
times the added bytes and at most 64 KiB. That is enough for some 2,500 files without statistics, since 1,000
take 25 KiB. Example: 30 partitions have 700 files each, appended one by one. A reader finds one chunk in
each. With levels alone it would find four, and take half as long again. Of longer chunks, three are not full,
on average.

**Many files.** A partition with very many files gets chunks of 8,000 files (`room_for`), so that its own row
stays small.

**Order.** If the table has a sort column, files are sorted by their minimum of it before they are divided
into chunks. Then few chunks contain a value, and a query skips the others.
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
from parquetry.metastore.storage.model import FileChunk, TableMetadata

LEVELS = (1.0, 1 / 3, 1 / 9, 1 / 27, 1 / 81, 1 / 243)
"""Weights at which chunks are merged."""
MAX_FULL_CHUNKS = 256
"""Full chunks of the usual size per partition. A partition with more files gets larger chunks."""
MAX_TAIL_BYTES = 64 << 10
"""Bytes of the short chunks at the end that are merged on each move."""
TAIL_BYTES_PER_ADDED_BYTE = 32
"""Bytes of those short chunks per added byte, at most."""
_MIN_LEVEL_SHARE = 0.75
"""Fraction of a level's weight. A chunk of that weight or more belongs to the level: bytes do not add up
exactly."""
_MIN_CHUNK_WEIGHT = 0.5
"""Weight of a chunk that `recut` leaves alone. Chunks are divided by the average size of a file, so few are
exactly full."""


class Room(msgspec.Struct, frozen=True):
    """The room of a chunk: a number of files and a number of bytes, whichever is reached first."""

    files: int
    bytes: int

    def weight(self, chunk: FileChunk) -> float:
        """Return how full a chunk is, by files or by bytes; 1 is full."""
        return max(chunk.files / self.files, chunk.bytes / self.bytes)

    def holds(self, size: float) -> int:
        """Return how many files fill a chunk, given their average bytes."""
        return max(1, min(self.files, int(self.bytes / size)))


def room_for(room: Room, count: int) -> Room:
    """Return the room of the chunks of a partition with `count` files."""
    return Room(room.files * 8, room.bytes) if count > MAX_FULL_CHUNKS * room.files else room


def to_rewrite(chunks: Sequence[FileChunk], files: int, size: int, room: Room) -> int:
    """Return how many chunks at the end are merged with the added files.

    Args:
        chunks: chunks of the partition, in order.
        files: number of added files.
        size: bytes of the added files.
        room: room of a chunk.

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
    """Return how many short chunks at the end have `most` bytes together.

    A nearly full chunk counts as short if the added files fit into it.
    """
    count, weight, size = 0, added, 0
    for chunk in reversed(chunks):
        weight += room.weight(chunk)
        size += chunk.bytes
        if not chunk.bytes or size > most or (room.weight(chunk) >= _MIN_LEVEL_SHARE and weight > 1):
            break
        count += 1
    return count


def _chunks_in_level(chunks: Sequence[FileChunk], added: float, room: Room) -> int:
    """Return how many chunks at the end reach the weight of a level together with the added files."""
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
    """Return whether all chunks are in columns, and all but the last are at least half full."""
    return all(chunk.bytes for chunk in chunks) and all(
        room.weight(chunk) >= _MIN_CHUNK_WEIGHT for chunk in chunks[:-1]
    )


def sort_column(metadata: TableMetadata, arrangement: ArrangementSpec) -> str | None:
    """Return the physical name of the first sort column of a partition's files, or None if they have none.

    Args:
        metadata: metadata of the table. Its property `sort-by` holds if the arrangement has no sort order.
        arrangement: arrangement of the partition.
    """
    if arrangement.order:
        return arrangement.order[0].column
    try:
        first = parse_paths(metadata.properties.get("sort-by", ""))[0]
        return metadata.column(".".join(first)).physical
    except (
        ValueError,
        ColumnNotFoundError,
    ):  # a field, or no column: a write reports it, and a list of files may have any order
        return None


def files_in_order(files: Iterable[FileRecord], column: str | None, types: Types) -> list[FileRecord]:
    """Return files in the order of their minima of a column; files without a known minimum come last.

    Args:
        files: the files. Files with equal minima keep their order.
        column: physical name of the column, or None to keep the order of all files.
        types: types of the table's columns.
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
