"""The value of a partition's row, and long lists of files.

A row lists its files inline up to `MAX_INLINE_BYTES`, or to a part of that behind a list in chunks. Then they
move to immutable chunk rows (`chunks`) which later versions of the partition share. So an append writes little, however
many files there are (`merge_policy`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from parquetry.data_files import FileColumns, FileRecord, RecordedFiles, optional
from parquetry.errors import MetastoreDamagedError, TableNotFoundError
from parquetry.layout import ArrangementSpec
from parquetry.metastore.manifest.chunks import chunk_rows, read_chunks, read_together
from parquetry.metastore.manifest.columns import encode_columns
from parquetry.metastore.manifest.inline import entries_decoder
from parquetry.metastore.manifest.merge_policy import (
    Room,
    files_in_order,
    is_well_divided,
    room_for,
    sort_column,
    to_rewrite,
)
from parquetry.metastore.manifest.summary import Types, types_of
from parquetry.metastore.storage import (
    FileChunk,
    ListedFile,
    PartitionEntry,
    TableMetadata,
    batches,
    decode_arrangement,
    decoder,
    encode,
    encode_arrangement,
    encode_file,
    joined,
)
from parquetry.store import Store

MAX_INLINE_BYTES = 16 << 10
MIN_INLINE_FILES = 8
"""Files that stay in a row behind chunks, whatever their size: chunks that are short are written anew for those that follow."""
_CHUNK_BYTES_PER_INLINE_BYTE = 16
"""How many times the bytes of a row's own files those in chunks take, where there are some."""
MAX_CHUNK_FILES = 1000
MAX_CHUNK_BYTES = 4 << 20
"""A store may refuse rows of more than 10 MB, as HBase does."""
FILES_PER_READ = 4096
"""How many files of one partition are read at once, unless one row holds more."""

TOMBSTONE = b"\x00"
_ENTRY = b"\x01"
NO_FILES = msgspec.Raw(encode(()))
"""What an entry lists inline that lists nothing there."""
_T = TypeVar("_T")


def encode_entry(entry: PartitionEntry) -> bytes:
    """Return the value of a partition's row."""
    if not entry.chunks or entry.chunks[0].bytes:  # in columns, and so are all that came later
        return _ENTRY + encode(entry)
    # Those that format 1 has written are referred to as format 1 does it.
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
            joined([value[1:] for value in values])
        )
    except MetastoreDamagedError:
        return [decode_entry(value) for value in values]  # the error is about the one that is damaged
    return entries


def decode_with_files(values: Sequence[bytes], names: tuple[str, ...]) -> list[Any] | None:
    """Return the entries of many partitions, with their inline files decoded by `inline.entries_decoder`.

    Args:
        values: of the partitions' rows, none of them a tombstone.
        names: of the columns of which statistics are wanted.

    Returns:
        None where one is damaged: to decode each by itself tells which.
    """
    try:
        entries: list[Any] = entries_decoder(names).decode(joined([value[1:] for value in values]))
    except MetastoreDamagedError:
        return None
    return entries


def encode_files(files: Iterable[FileRecord]) -> bytes:
    """Return the bytes of a list of files."""
    return encode([encode_file(file) for file in files])


def inline_files(entry: PartitionEntry) -> tuple[FileRecord, ...]:
    """Return the files that an entry lists itself, behind those of its chunks."""
    files: tuple[FileRecord, ...] = decoder(tuple[FileRecord, ...]).decode(entry.inline)
    return files


def read_files(store: Store, table: bytes, entry: PartitionEntry) -> tuple[FileRecord, ...]:
    """Return the files of an entry, oldest first, or as they are sorted.

    Raises:
        TableNotFoundError: rows are missing, because the table was dropped meanwhile.
    """
    files: list[FileRecord] = []
    for _, columns in read_together(store, table, entry.chunks):
        files += columns.records()
    return (*files, *inline_files(entry))


def read_listed(store: Store, table: bytes, entry: PartitionEntry) -> tuple[ListedFile, ...]:
    """Return the same files without their statistics, in much less time.

    Raises:
        TableNotFoundError: rows are missing, because the table was dropped meanwhile.
    """
    files: list[ListedFile] = []
    for _, columns in read_together(store, table, entry.chunks):
        files += _listed(columns)
    return (*files, *decoder(tuple[ListedFile, ...]).decode(entry.inline))


def _listed(files: FileColumns) -> Iterable[ListedFile]:
    return map(ListedFile, files.paths, files.bytes.tolist(), optional(files.rows), optional(files.modified))


def _inline_bytes(chunks: Sequence[FileChunk]) -> int:
    """Return how much a row lists itself that refers to chunks: a little of what these hold, at most half as much as without any.

    A file takes three to five times as much here as in a chunk, so after many appends of a file each a list would be
    twice as long as one that a single commit has written. Example: behind 600 files in chunks of 15 KB there
    is up to 1 KB, 25 files, and 125 KB later 8 KB.
    """
    if not chunks or not all(chunk.bytes for chunk in chunks):
        return MAX_INLINE_BYTES
    share = sum(chunk.bytes for chunk in chunks) // _CHUNK_BYTES_PER_INLINE_BYTE
    return max(MAX_INLINE_BYTES // _CHUNK_BYTES_PER_INLINE_BYTE, min(MAX_INLINE_BYTES // 2, share))


class EntryWriter:
    """Makes the entries of one ticket, and collects the chunk rows that have to be written before them.

    Args:
        store: in which the chunks are that may be made into one.
        table: id.
        ticket: of the commit.
        metadata: of the table.
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
            location: of the partition; None: the default.
            files: to list.
            arrangement: of the partition.
            previous: of the partition, as arranged; its lists of files are shared.
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
                chunks = self._spilled(chunks, spilled, room / len(listed), count, arrangement)
                listed = []
                break
        inline = msgspec.Raw(encode(listed)) if listed else NO_FILES
        return PartitionEntry(location, count, rows, size, encode_arrangement(arrangement), chunks, inline)

    def _spilled(
        self,
        chunks: tuple[FileChunk, ...],
        files: Sequence[FileRecord],
        size: float,
        count: int,
        arrangement: ArrangementSpec,
    ) -> tuple[FileChunk, ...]:
        """Return the chunks of a partition with files added to them, for which the last ones may be written anew.

        Args:
            chunks: of the partition so far.
            files: to list in chunks, at least one.
            size: bytes that each of them takes on average.
            count: of all files of the partition.
            arrangement: of the partition.
        """
        room = room_for(Room(MAX_CHUNK_FILES, MAX_CHUNK_BYTES), count)
        last = chunks[len(chunks) - to_rewrite(chunks, len(files), int(len(files) * size), room) :]
        try:
            earlier = [
                file for some in read_chunks(self._store, self._table, last) for file in some.records()
            ]
        except (TableNotFoundError, MetastoreDamagedError):
            # A chunk that cannot be read keeps nobody from appending; of a table that is gone its head tells.
            last, earlier = (), []
        total = [*earlier, *files]
        size = (sum(chunk.bytes for chunk in last) + size * len(files)) / len(total)
        column = sort_column(self._metadata, arrangement)
        parts = batches(files_in_order(total, column, self._types), room.holds(size))
        return (*chunks[: len(chunks) - len(last)], *map(self._chunk, parts))

    def needs_recut(self, entry: PartitionEntry) -> bool:
        """Return whether `recut` would return another entry; it raises what that raises."""
        return self._to_recut(entry) is not None

    def recut(self, entry: PartitionEntry) -> PartitionEntry:
        """Return an entry with the same files, those in chunks in as few as hold them, in the order of the table.

        Chunks that are as they should be are shared.

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
        for part in batches(files, room.holds(size)):
            same, chunk = there.get(id(part[0]), (None, None))
            chunks.append(chunk if chunk and chunk.bytes and part == same else self._chunk(part))
        return msgspec.structs.replace(entry, chunks=tuple(chunks))

    def _to_recut(self, entry: PartitionEntry) -> tuple[list[list[FileRecord]], list[FileRecord]] | None:
        """Return the files in each chunk, and all as they should be; None if that is how they are."""
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
    """Return the number of rows of some files; None if one does not know."""
    total = 0
    for file in files:
        if file.rows is None:
            return None
        total += file.rows
    return total


def files_in_parts(
    entry: PartitionEntry, read: Callable[[PartitionEntry], Sequence[_T]], start: int = 0
) -> Iterator[_T]:
    """Yield the files of an entry, and read no more of them at a time than need be: a partition may list a million.

    However the rows are coded that hold long lists, an entry that names some of them lists some of the files:

        chunks   0: 3,000 files   1: 3,000 files   2: 500 files   inline: 20 files
        read     0 | 1, 2 | inline                                from the first file on
                 1, 2 | inline                                    from file 4,000 on, of which the first 1,000 are passed over

    Args:
        entry: of the partition.
        read: gives the files of an entry, in order.
        start: how many files to pass over.
    """
    remaining = start
    for chunks in _together(entry.chunks):
        count = sum(chunk.files for chunk in chunks)
        if remaining < count:
            yield from read(msgspec.structs.replace(entry, chunks=chunks, inline=NO_FILES))[remaining:]
        remaining = max(0, remaining - count)
    yield from read(msgspec.structs.replace(entry, chunks=()))[remaining:]


def _together(chunks: Sequence[FileChunk]) -> Iterator[tuple[FileChunk, ...]]:
    """Yield chunks in order, as many together as list up to `FILES_PER_READ`; one at least."""
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
