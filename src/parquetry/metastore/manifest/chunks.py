"""Chunks: rows with a part of a partition's long list of files, each beside a row with its summary.

    08 table ticket number   the files, in columns (`columns`), or in format 1 as a list of records
    0a table ticket number   the summary of their statistics (`summary`); a chunk of format 1 has none

Both rows are immutable, and the versions of a partition share them.

The merge policy says which files of a partition are in one chunk, as its list grows.

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

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import groupby
from typing import Any

import msgspec

from parquetry.data_files import FileColumns, FileRecord, RecordedFiles
from parquetry.errors import ColumnNotFoundError, TableNotFoundError
from parquetry.identifiers import parse_sorted_by
from parquetry.layout import ArrangementSpec
from parquetry.metastore.manifest.columns import ChunkColumns, encode_columns, is_in_columns
from parquetry.metastore.manifest.summary import Types, summarise
from parquetry.metastore.storage.checksums import refuse
from parquetry.metastore.storage.keyspace import chunk_key, summary_key
from parquetry.metastore.storage.model import FileChunk, TableMetadata
from parquetry.metastore.storage.wire import decoder, encode, encode_file
from parquetry.store import Store, in_batches

_CHUNKS_PER_READ = 32
_CHUNK_BYTES_PER_READ = 4 << 20
"""Bytes of the chunks that are read together: some thousand files with statistics of some twenty columns."""
_SUMMARIES_PER_READ = 1000

Row = tuple[bytes, bytes]


def chunk_files(value: bytes) -> FileColumns:
    """Return the files that a chunk lists, in either form.

    Raises:
        MetastoreDamagedError: the bytes are not a chunk. For a chunk in columns the error may come later,
            when a column is read.
    """
    if is_in_columns(value):
        return ChunkColumns(value)
    return RecordedFiles(decoder(tuple[FileRecord, ...]).decode(value))


def read_chunks(store: Store, table: bytes, chunks: Sequence[FileChunk]) -> Iterator[FileColumns]:
    """Yield the files of each chunk, in order. A few chunks are read at a time.

    Args:
        store: store of the metastore.
        table: id of the table.
        chunks: chunks to read.

    Raises:
        TableNotFoundError: rows are missing, because the table was dropped meanwhile.
        MetastoreDamagedError: see `chunk_files`.
    """
    for some in in_batches(chunks, _CHUNKS_PER_READ):
        for value in _values(store, table, some):
            yield chunk_files(value)


def read_together(
    store: Store, table: bytes, chunks: Sequence[FileChunk]
) -> Iterator[tuple[Sequence[int], FileColumns]]:
    """Yield the files of chunks, in order, for groups of chunks with some thousand files together.

    Args:
        store: store of the metastore.
        table: id of the table.
        chunks: chunks to read.

    Yields:
        the number of files of each chunk of a group, and the files of all of them.

    Raises:
        TableNotFoundError, MetastoreDamagedError: as `read_chunks` does.
    """
    for some in _read_batches(chunks):
        for in_columns, values in groupby(_values(store, table, some), is_in_columns):
            if in_columns:
                columns = ChunkColumns(*values)
                yield columns.counts, columns
            else:
                for files in map(chunk_files, values):
                    yield [files.count], files


def _read_batches(chunks: Sequence[FileChunk]) -> Iterator[Sequence[FileChunk]]:
    """Yield groups of chunks, each of about `_CHUNK_BYTES_PER_READ`."""
    first = size = 0
    for index, chunk in enumerate(chunks):
        size += chunk.bytes or _CHUNK_BYTES_PER_READ // _CHUNKS_PER_READ
        if size >= _CHUNK_BYTES_PER_READ:
            yield chunks[first : index + 1]
            first, size = index + 1, 0
    if first < len(chunks):
        yield chunks[first:]


def _values(store: Store, table: bytes, chunks: Sequence[FileChunk]) -> list[bytes]:
    values = store.get_many([chunk_key(table, chunk.ticket, chunk.number) for chunk in chunks])
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        raise TableNotFoundError("The table was dropped while the files of a partition were being read.")
    for value in present:
        refuse(value)
    return present


def read_summaries(store: Store, table: bytes, chunks: Sequence[FileChunk]) -> list[FileRecord | None]:
    """Return the summary of each of some chunks, or None for a chunk without one.

    Args:
        store: store of the metastore.
        table: id of the table.
        chunks: the chunks, in any order.

    Raises:
        MetastoreDamagedError: a row cannot be read.
    """
    decode = decoder(FileRecord).decode
    summaries: list[FileRecord | None] = []
    for some in in_batches(chunks, _SUMMARIES_PER_READ):
        values = store.get_many([summary_key(table, chunk.ticket, chunk.number) for chunk in some])
        summaries += (None if value is None else decode(value) for value in values)
    return summaries


def chunk_rows(
    table: bytes, ticket: int, number: int, files: Sequence[FileRecord], types: Types
) -> tuple[FileChunk, Row, Row]:
    """Return a new chunk, its row, and the row of its summary.

    Args:
        table: id of the table.
        ticket: ticket of the commit that writes it.
        number: number of the chunk among the chunks of this ticket.
        files: its files, at least one.
        types: types of the table's columns.
    """
    columns = RecordedFiles(files)
    value = encode_columns(columns)
    chunk = FileChunk(ticket, number, len(files), len(value))
    return (
        chunk,
        (chunk_key(table, ticket, number), value),
        (summary_key(table, ticket, number), encode_summary(summarise(columns, types))),
    )


def chunk_position(row_key: bytes) -> tuple[int, int]:
    """Return ticket and number in the key of a chunk's row, or of its summary's row."""
    return int.from_bytes(row_key[-16:-8], "big"), int.from_bytes(row_key[-8:], "big")


def encode_summary(summary: FileRecord) -> bytes:
    """Return the value of a summary's row."""
    return encode(encode_file(summary))


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
        first = parse_sorted_by(metadata.properties.get("sort-by", "")).paths[0]
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
