"""One pass over the rows of a table's partitions, which tells a vacuum all that it needs to know of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from parquetry.errors import MetastoreDamagedError
from parquetry.metastore.cleanup.retention import StoredRow, stored_rows
from parquetry.metastore.manifest.entries import decode_entry
from parquetry.metastore.storage.checksums import is_tombstone
from parquetry.metastore.storage.head import Head
from parquetry.metastore.storage.keyspace import removed_files_prefix
from parquetry.metastore.storage.model import CommitRecord, PartitionEntry
from parquetry.metastore.storage.wire import decode_arrangement
from parquetry.store import Store

ChunkPosition = tuple[int, int]
"""Ticket and number of a chunk."""


@dataclass(frozen=True, slots=True)
class UnneededRow:
    """A row that neither a kept version nor a commit under way needs.

    Attributes:
        row: the row without its value.
        size: bytes of the value.
        chunks: the chunks that it refers to.
    """

    row: StoredRow
    size: int
    chunks: frozenset[ChunkPosition]


class RowSurvey:
    """The rows of a table's partitions, and of its removed files.

    Args:
        store: the metastore's store.
        table: the table's id.
        head: the table's head, after old versions were retired.
        oldest: the oldest version that is kept.

    Attributes:
        locations: the locations in rows of partitions, also of their directories.
        unneeded: the unneeded rows of partitions.
        records: sizes of the unneeded records of removed files.
        chunks: the chunks that needed rows refer to.
        aborted: aborted tickets that have left rows.
    """

    def __init__(self, store: Store, table: bytes, head: Head, oldest: CommitRecord) -> None:
        self._store = store
        self._table = table
        self._head = head
        self._oldest = oldest
        self.locations: set[str] = set()
        self.unneeded: list[UnneededRow] = []
        self.records: list[int] = []
        self.chunks: set[ChunkPosition] = set()
        self.aborted: set[int] = set()

    def rows(self) -> Iterator[StoredRow]:
        """Yield the unneeded rows of partitions, with their values, in the one pass over all of them.

        Raises:
            MetastoreDamagedError: a needed row cannot be read, so that the chunks it needs are not known.
        """
        head = self._head
        for row in stored_rows(self._store, self._table, head, self._oldest):
            if row.ticket < head.next_ticket and head.aborted and head.is_aborted(row.ticket):
                self.aborted.add(row.ticket)
            entry = _entry(row)
            if entry is not None:
                self._note_locations(entry)
            if row.is_needed:
                if entry is not None and entry.chunks:
                    self.chunks.update((chunk.ticket, chunk.number) for chunk in entry.chunks)
                continue
            chunks = () if entry is None else entry.chunks
            positions = frozenset((chunk.ticket, chunk.number) for chunk in chunks)
            self.unneeded.append(UnneededRow(row._replace(value=b""), len(row.value), positions))
            yield row
        prefix = removed_files_prefix(self._table)
        for row in stored_rows(self._store, self._table, head, self._oldest, prefix):
            if row.ticket < head.next_ticket and head.is_aborted(row.ticket):
                self.aborted.add(row.ticket)
            if not row.is_needed:
                self.records.append(len(row.value))

    def _note_locations(self, entry: PartitionEntry) -> None:
        if entry.location:
            self.locations.add(entry.location)
        try:
            self.locations.update(each for each in decode_arrangement(entry.arrangement).locations if each)
        except MetastoreDamagedError:
            return  # fsck reports it

    def unneeded_entries(self, entries: Callable[[StoredRow], Iterable[bytes]]) -> Iterator[bytes]:
        """Yield the keys of the unneeded rows' entries in indexes; see `index_upkeep.entries_of_rows`."""
        return (key for each in self.unneeded for key in entries(each.row))


def _entry(row: StoredRow) -> PartitionEntry | None:
    """Return the entry of a row, or None for a tombstone, and for an unneeded row that cannot be read."""
    if is_tombstone(row.value):
        return None
    try:
        return decode_entry(row.value)
    except MetastoreDamagedError:
        if row.is_needed:
            raise
        return None
