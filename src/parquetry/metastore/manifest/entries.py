"""The value of a partition's row, and long lists of files.

A row lists its files inline up to `MAX_INLINE_BYTES`, or up to a fraction of that if the partition also has
chunks. Then the files move to immutable chunk rows (`chunks`), which later versions of the partition share.
So an append writes little, however many files the partition has (`chunks`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from parquetry.data_files import FileColumns, FileRecord, RecordedFiles, optional
from parquetry.errors import MetastoreDamagedError, TableNotFoundError
from parquetry.layout import ArrangementSpec
from parquetry.metastore.manifest.chunks import (
    Room,
    chunk_rows,
    files_in_order,
    is_well_divided,
    read_chunks,
    read_together,
    room_for,
    sort_column,
    to_rewrite,
)
from parquetry.metastore.manifest.columns import encode_columns
from parquetry.metastore.manifest.inline import entries_decoder
from parquetry.metastore.manifest.summary import Types, types_of
from parquetry.metastore.storage.model import FileChunk, ListedFile, PartitionEntry, TableMetadata
from parquetry.metastore.storage.wire import (
    decode_arrangement,
    decoder,
    encode,
    encode_arrangement,
    encode_file,
    join_values,
)
from parquetry.store import Store, in_batches

MAX_INLINE_BYTES = 16 << 10
MIN_INLINE_FILES = 8
"""Files that a row behind chunks lists even if they take more than its share of bytes: each move into chunks
rewrites the last short chunks."""
_CHUNK_BYTES_PER_INLINE_BYTE = 16
"""Bytes of a partition's chunks per byte that its row may list inline."""
MAX_CHUNK_FILES = 1000
MAX_CHUNK_BYTES = 4 << 20
"""Bytes of a chunk: far below the 10 MB beyond which a store may refuse a row, as HBase does."""
FILES_PER_READ = 4096
"""Files of one partition that are read together, unless one row lists more."""

TOMBSTONE = b"\x00"
_ENTRY = b"\x01"
NO_FILES = msgspec.Raw(encode(()))
"""The inline list of an entry without inline files."""
_T = TypeVar("_T")


def encode_entry(entry: PartitionEntry) -> bytes:
    """Return the value of a partition's row."""
    if not entry.chunks or entry.chunks[0].bytes:  # in columns, and so are all that came later
        return _ENTRY + encode(entry)
    # A reference to a chunk of format 1 keeps the form of format 1.
    chunks = [chunk if chunk.bytes else (chunk.ticket, chunk.number, chunk.files) for chunk in entry.chunks]
    record = (
        entry.location,
        entry.file_count,
        entry.rows,
        entry.bytes,
        entry.arrangement,
        chunks,
        entry.inline,
    )
    return _ENTRY + encode(record)


def decode_entry(value: bytes) -> PartitionEntry:
    """Return the entry in the value of a partition's row that is not a tombstone."""
    entry: PartitionEntry = decoder(PartitionEntry).decode(memoryview(value)[1:])
    return entry


def decode_entries(values: Sequence[bytes]) -> list[PartitionEntry]:
    """Return the entries in the values of many partitions' rows, none of them a tombstone."""
    try:
        entries: list[PartitionEntry] = decoder(list[PartitionEntry]).decode(
            join_values([value[1:] for value in values])
        )
    except MetastoreDamagedError:
        return [decode_entry(value) for value in values]  # the error names the damaged row
    return entries


def decode_with_files(values: Sequence[bytes], names: tuple[str, ...]) -> list[Any] | None:
    """Return the entries of many partitions, with their inline files decoded by `inline.entries_decoder`.

    Args:
        values: values of the partitions' rows, none of them a tombstone.
        names: names of the columns whose statistics are wanted.

    Returns:
        the entries, or None if a row is damaged. Decoding the rows one by one shows which.
    """
    try:
        entries: list[Any] = entries_decoder(names).decode(join_values([value[1:] for value in values]))
    except MetastoreDamagedError:
        return None
    return entries


def encode_files(files: Iterable[FileRecord]) -> bytes:
    """Return the bytes of a list of files."""
    return encode([encode_file(file) for file in files])


def inline_files(entry: PartitionEntry) -> tuple[FileRecord, ...]:
    """Return the files that an entry lists inline. They follow the files of its chunks."""
    files: tuple[FileRecord, ...] = decoder(tuple[FileRecord, ...]).decode(entry.inline)
    return files


def read_files(store: Store, table: bytes, entry: PartitionEntry) -> tuple[FileRecord, ...]:
    """Return the files of an entry: oldest first, or in the order of the table's sort column within chunks.

    Raises:
        TableNotFoundError: rows are missing, because the table was dropped meanwhile.
    """
    files: list[FileRecord] = []
    for _, columns in read_together(store, table, entry.chunks):
        files += columns.records()
    return (*files, *inline_files(entry))


def read_listed(store: Store, table: bytes, entry: PartitionEntry) -> tuple[ListedFile, ...]:
    """Return the files of an entry without their statistics, in much less time.

    Raises:
        TableNotFoundError: rows are missing, because the table was dropped meanwhile.
    """
    files: list[ListedFile] = []
    for _, columns in read_together(store, table, entry.chunks):
        files += _list_files(columns)
    return (*files, *decoder(tuple[ListedFile, ...]).decode(entry.inline))


def _list_files(files: FileColumns) -> Iterable[ListedFile]:
    return map(ListedFile, files.paths, files.bytes.tolist(), optional(files.rows), optional(files.modified))


def _inline_bytes(chunks: Sequence[FileChunk]) -> int:
    """Return how many bytes of files a row may list inline, given the partition's chunks.

    Without chunks it is `MAX_INLINE_BYTES`. With chunks it is a sixteenth of their bytes, at least 1 KB and
    at most 8 KB. A file takes three to five times as many bytes inline as in a chunk. Without this limit, a
    list that grew by many small appends would be twice as long as the same list from a single commit.

    Example: behind 600 files in chunks of 15 KB, the row lists up to 1 KB, some 25 files. Behind chunks of
    128 KB it lists up to 8 KB.
    """
    if not chunks or not all(chunk.bytes for chunk in chunks):
        return MAX_INLINE_BYTES
    share = sum(chunk.bytes for chunk in chunks) // _CHUNK_BYTES_PER_INLINE_BYTE
    return max(MAX_INLINE_BYTES // _CHUNK_BYTES_PER_INLINE_BYTE, min(MAX_INLINE_BYTES // 2, share))


class EntryWriter:
    """Makes the entries of one ticket, and collects the chunk rows that must be written before them.

    Args:
        store: store of the metastore, to read chunks that are merged.
        table: id of the table.
        ticket: ticket of the commit.
        metadata: metadata of the table.
    """

    def __init__(self, store: Store, table: bytes, ticket: int, metadata: TableMetadata) -> None:
        self._store = store
        self._table = table
        self._ticket = ticket
        self._number = 0
        self._metadata = metadata
        self.chunk_rows: list[tuple[bytes, bytes]] = []

    def entry(
        self,
        location: str | None,
        files: Sequence[FileRecord],
        arrangement: ArrangementSpec,
        previous: PartitionEntry | None = None,
    ) -> PartitionEntry:
        """Return an entry with the files of `previous`, if given, and then `files`.

        Args:
            location: location of the partition, or None for the default.
            files: files to list.
            arrangement: arrangement of the partition.
            previous: the partition's present entry, with the same arrangement. The new entry shares its
                chunks.
        """
        rows = row_sum(files)
        size = sum(file.bytes for file in files)
        count = len(files)
        chunks: tuple[FileChunk, ...] = ()
        listed: list[msgspec.Raw] = []
        if previous is not None:
            rows = None if rows is None or previous.rows is None else rows + previous.rows
            size += previous.bytes
            count += previous.file_count
            chunks = previous.chunks
            listed = decoder(list[msgspec.Raw]).decode(previous.inline)
        room = sum(len(memoryview(file)) for file in listed)
        most = _inline_bytes(chunks)
        for file in files:
            listed.append(encode_file(file))
            room += len(memoryview(listed[-1]))
            if room > most and (len(listed) > MIN_INLINE_FILES or room > MAX_INLINE_BYTES):
                spilled = files if previous is None else [*inline_files(previous), *files]
                chunks = self._spill(chunks, spilled, room / len(listed), count, arrangement)
                listed = []
                break
        inline = msgspec.Raw(encode(listed)) if listed else NO_FILES
        return PartitionEntry(location, count, rows, size, encode_arrangement(arrangement), chunks, inline)

    def _spill(
        self,
        chunks: tuple[FileChunk, ...],
        files: Sequence[FileRecord],
        size: float,
        count: int,
        arrangement: ArrangementSpec,
    ) -> tuple[FileChunk, ...]:
        """Return the chunks of a partition with files added, which may be merged with the last chunks.

        Args:
            chunks: the partition's chunks so far.
            files: files to add, at least one.
            size: average bytes of an added file.
            count: number of all files of the partition.
            arrangement: arrangement of the partition.
        """
        room = room_for(Room(MAX_CHUNK_FILES, MAX_CHUNK_BYTES), count)
        last = chunks[len(chunks) - to_rewrite(chunks, len(files), int(len(files) * size), room) :]
        try:
            earlier = [
                file for some in read_chunks(self._store, self._table, last) for file in some.records()
            ]
        except (TableNotFoundError, MetastoreDamagedError):
            # An unreadable chunk does not stop an append. If the table was dropped, its head will show it.
            last, earlier = (), []
        total = [*earlier, *files]
        size = (sum(chunk.bytes for chunk in last) + size * len(files)) / len(total)
        column = sort_column(self._metadata, arrangement)
        parts = in_batches(files_in_order(total, column, self._types), room.holds(size))
        return (*chunks[: len(chunks) - len(last)], *map(self._chunk, parts))

    def needs_recut(self, entry: PartitionEntry) -> bool:
        """Return whether `recut` would return another entry. It raises the same errors."""
        return self._to_recut(entry) is not None

    def recut(self, entry: PartitionEntry) -> PartitionEntry:
        """Return an entry with the same files in as few chunks as possible, in the table's order.

        It shares the chunks that need no change.

        Raises:
            TableNotFoundError: a chunk is missing.
            MetastoreDamagedError: a chunk cannot be read.
        """
        to_recut = self._to_recut(entry)
        if to_recut is None:
            return entry
        read, files = to_recut
        room = room_for(Room(MAX_CHUNK_FILES, MAX_CHUNK_BYTES), entry.file_count)
        first = files[: room.files]
        size = len(encode_columns(RecordedFiles(first))) / len(first)
        there = {id(part[0]): (part, chunk) for part, chunk in zip(read, entry.chunks, strict=True)}
        chunks = []
        for part in in_batches(files, room.holds(size)):
            same, chunk = there.get(id(part[0]), (None, None))
            chunks.append(chunk if chunk and chunk.bytes and part == same else self._chunk(part))
        return msgspec.structs.replace(entry, chunks=tuple(chunks))

    def _to_recut(self, entry: PartitionEntry) -> tuple[list[list[FileRecord]], list[FileRecord]] | None:
        """Return each chunk's files, and all files in the right order; or None if no chunk needs a change."""
        room = room_for(Room(MAX_CHUNK_FILES, MAX_CHUNK_BYTES), entry.file_count)
        column = sort_column(self._metadata, decode_arrangement(entry.arrangement))
        cut_well = is_well_divided(entry.chunks, room)
        if cut_well and (column is None or not entry.chunks):
            return None
        read = [columns.records() for columns in read_chunks(self._store, self._table, entry.chunks)]
        files = [file for part in read for file in part]
        ordered = files_in_order(files, column, self._types)
        return None if cut_well and ordered == files else (read, ordered)

    @functools.cached_property
    def _types(self) -> Types:
        return types_of(self._metadata.columns)

    def _chunk(self, files: Sequence[FileRecord]) -> FileChunk:
        chunk, *rows = chunk_rows(self._table, self._ticket, self._number, files, self._types)
        self.chunk_rows += rows
        self._number += 1
        return chunk


def row_sum(files: Iterable[FileRecord]) -> int | None:
    """Return the number of rows of some files, or None if one file's number is not known."""
    total = 0
    for file in files:
        if file.rows is None:
            return None
        total += file.rows
    return total


def files_in_parts(
    entry: PartitionEntry, read: Callable[[PartitionEntry], Sequence[_T]], start: int = 0
) -> Iterator[_T]:
    """Yield the files of an entry, and read only some chunks at a time: a partition may list a million files.

    An entry that names some of the chunks lists some of the files, so any function that reads an entry will
    do. Example: chunks 0 and 1 have 3,000 files each, chunk 2 has 500, and 20 files are inline.

    | `start` | reads                                                              |
    |---------|--------------------------------------------------------------------|
    | 0       | chunk 0; then chunks 1 and 2; then the inline files                |
    | 4,000   | chunks 1 and 2, and skips their first 1,000; then the inline files |

    Args:
        entry: entry of the partition.
        read: returns the files of an entry, in order.
        start: number of files to skip.
    """
    remaining = start
    for chunks in _together(entry.chunks):
        count = sum(chunk.files for chunk in chunks)
        if remaining < count:
            yield from read(msgspec.structs.replace(entry, chunks=chunks, inline=NO_FILES))[remaining:]
        remaining = max(0, remaining - count)
    yield from read(msgspec.structs.replace(entry, chunks=()))[remaining:]


def _together(chunks: Sequence[FileChunk]) -> Iterator[tuple[FileChunk, ...]]:
    """Yield groups of chunks, in order, each with up to `FILES_PER_READ` files, and at least one chunk."""
    group: list[FileChunk] = []
    files = 0
    for chunk in chunks:
        if group and files + chunk.files > FILES_PER_READ:
            yield tuple(group)
            group, files = [], 0
        group.append(chunk)
        files += chunk.files
    if group:
        yield tuple(group)
