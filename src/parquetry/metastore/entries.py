"""The value of a partition's row, and long lists of files.

A row lists its files inline up to `INLINE_BYTES`; then they move to immutable chunk rows which later versions
of the partition share. So an append writes little, however many files there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from parquetry.errors import TableNotFoundError
from parquetry.layout.arrangement import Arrangement
from parquetry.metastore.keyspace import chunk_key
from parquetry.metastore.model import DataFile, FileChunk, ListedFile, PartitionEntry
from parquetry.metastore.wire import decoder, encode, encode_arrangement, encode_file
from parquetry.store.base import Store

INLINE_BYTES = 16 << 10
CHUNK_BYTES = 128 << 10

TOMBSTONE = b"\x00"
_ENTRY = b"\x01"
_T = TypeVar("_T")
_EMPTY = msgspec.Raw(encode(()))


def encode_entry(entry: PartitionEntry) -> bytes:
    """Return the value of a partition's row."""
    return _ENTRY + encode(entry)


def decode_entry(value: bytes) -> PartitionEntry:
    """Return the entry in the value of a partition's row that is not a tombstone."""
    entry: PartitionEntry = decoder(PartitionEntry).decode(memoryview(value)[1:])
    return entry


def encode_files(files: Iterable[DataFile]) -> bytes:
    """Return the bytes of a list of files."""
    return encode([encode_file(file) for file in files])


def read_files(store: Store, table: bytes, entry: PartitionEntry) -> tuple[DataFile, ...]:
    """Return the files of an entry, oldest first.

    Raises:
        TableNotFoundError: rows are missing, because the table was dropped meanwhile.
    """
    return _read(store, table, entry, tuple[DataFile, ...])


def read_listed(store: Store, table: bytes, entry: PartitionEntry) -> tuple[ListedFile, ...]:
    """Return the same files without their statistics, in much less time.

    Raises:
        TableNotFoundError: rows are missing, because the table was dropped meanwhile.
    """
    return _read(store, table, entry, tuple[ListedFile, ...])


def _read(store: Store, table: bytes, entry: PartitionEntry, kind: type[tuple[_T, ...]]) -> tuple[_T, ...]:
    decode = decoder(kind).decode
    inline: tuple[_T, ...] = decode(entry.inline)
    if not entry.chunks:
        return inline
    files: list[_T] = []
    for value in store.get_many([chunk_key(table, chunk.ticket, chunk.number) for chunk in entry.chunks]):
        if value is None:
            raise TableNotFoundError("The table was dropped while the files of a partition were being read.")
        files += decode(value)
    files += inline
    return tuple(files)


class EntryWriter:
    """Makes the entries of one ticket, and collects the chunk rows that have to be written before them.

    Args:
        table: id.
        ticket: of the commit.
    """

    def __init__(self, table: bytes, ticket: int) -> None:
        self._table = table
        self._ticket = ticket
        self._number = 0
        self.chunk_rows: list[tuple[bytes, bytes]] = []

    def entry(
        self,
        location: str | None,
        files: Sequence[DataFile],
        arrangement: Arrangement,
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
        listed = [encode_file(file) for file in files]
        if previous is not None:
            rows = None if rows is None or previous.rows is None else rows + previous.rows
            size += previous.bytes
            count += previous.file_count
            chunks = previous.chunks
            listed = decoder(list[msgspec.Raw]).decode(previous.inline) + listed
        if sum(len(memoryview(file)) for file in listed) > INLINE_BYTES:
            chunks += tuple(self._spill(listed))
            listed = []
        inline = msgspec.Raw(encode(listed)) if listed else _EMPTY
        return PartitionEntry(location, count, rows, size, encode_arrangement(arrangement), chunks, inline)

    def _spill(self, listed: Sequence[msgspec.Raw]) -> Iterable[FileChunk]:
        part: list[msgspec.Raw] = []
        size = 0
        for file in listed:
            part.append(file)
            size += len(memoryview(file))
            if size >= CHUNK_BYTES:
                yield self._chunk(part)
                part, size = [], 0
        if part:
            yield self._chunk(part)

    def _chunk(self, part: Sequence[msgspec.Raw]) -> FileChunk:
        chunk = FileChunk(self._ticket, self._number, len(part))
        self.chunk_rows.append((chunk_key(self._table, self._ticket, self._number), encode(part)))
        self._number += 1
        return chunk


def row_sum(files: Iterable[DataFile]) -> int | None:
    """Return the number of rows of some files; None if one does not know."""
    total = 0
    for file in files:
        if file.rows is None:
            return None
        total += file.rows
    return total
