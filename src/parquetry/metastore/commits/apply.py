"""Applying a change to a partition: its new row, and the difference in the table's totals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from parquetry.data_files import FileRecord, StatedTuples
from parquetry.errors import MetastoreDamagedError, TableNotFoundError
from parquetry.layout import MAX_CELLS, ArrangementSpec, grown, skewed_columns
from parquetry.locations import is_absolute
from parquetry.metastore.commits.arrangement_rules import arrangement_for
from parquetry.metastore.commits.changes import Append, Drop, FileChange, Grow, Move, Recut, Restore
from parquetry.metastore.commits.prepared import PreparedCommit
from parquetry.metastore.manifest.entries import TOMBSTONE, EntryWriter, encode_entry, read_files
from parquetry.metastore.storage.model import PartitionEntry, Totals
from parquetry.metastore.storage.wire import decode_arrangement
from parquetry.metastore.versions.visible_rows import PartitionRow, entry_of


class Merge:
    """Applies the changes of one commit to the newest rows of partitions.

    Args:
        prepared: the transaction with its effects. Paths of files are relative to the partitions in its base.
        ticket: ticket of the commit.
    """

    def __init__(self, prepared: PreparedCommit, ticket: int) -> None:
        self._prepared = prepared
        self._transaction = prepared.transaction
        self._base = prepared.base
        self._entries = EntryWriter(
            self._base.store, self._base.id, ticket, self._transaction.metadata or self._base.metadata
        )

    def take_chunk_rows(self) -> list[tuple[bytes, bytes]]:
        """Return the rows of the new chunks, and of their summaries, since the last call."""
        rows, self._entries.chunk_rows = self._entries.chunk_rows, []
        return rows

    def row(self, key: bytes, current: PartitionRow | None) -> tuple[bytes, Totals]:
        """Return the new row of a partition, and the difference that it makes to the totals.

        Args:
            key: key of the partition.
            current: its row now.
        """
        change = self._prepared.changes[key]
        # REPLACE TABLE keeps nothing of the base: totals begin at zero, and damaged rows are no hindrance.
        old = None if self._transaction.successor else entry_of(current)
        totals = Totals() if old is None else Totals().plus(old, -1)
        match change:
            case Drop():
                return TOMBSTONE, totals
            case Restore(entry):
                new = entry
            case Move(source):
                new = self._moved(key, source)
            case Recut():
                assert old is not None  # else it is a conflict
                new = self._entries.recut(old)
            case FileChange():
                new = self._merged(key, change, old)
        return encode_entry(new), totals.plus(new)

    def _moved(self, key: bytes, source: bytes) -> PartitionEntry:
        entry = entry_of(self._prepared.before[source])
        assert entry is not None
        lies = entry.location or self._default_location(source)
        location = None if lies == self._default_location(key) else lies
        return msgspec.structs.replace(entry, location=location)

    def _merged(self, key: bytes, change: FileChange, old: PartitionEntry | None) -> PartitionEntry:
        at_base = self._prepared.base_entry(key)
        written = (change.location or "").rstrip("/") or (at_base.location if at_base else None)
        if written is not None and written == self._default_location(key):
            written = None
        if not isinstance(change, Append) or old is None:
            arrangement = arrangement_for(self._transaction, change, at_base)
            return self._entries.entry(written, change.files, arrangement)
        files: Sequence[FileRecord] = change.files
        if written != old.location:  # the partition has another location than these files
            folder = written or self._default_location(key)
            files = [_absolute(file, folder) for file in files]
        arrangement = decode_arrangement(old.arrangement)
        if isinstance(change, Grow) and change.arrangement is not None and arrangement != change.arrangement:
            return self._grown(old, arrangement, change.arrangement, files)
        return self._entries.entry(old.location, files, arrangement, old)

    def _grown(
        self, old: PartitionEntry, own: ArrangementSpec, written: ArrangementSpec, files: Sequence[FileRecord]
    ) -> PartitionEntry:
        """Return a partition's entry whose map grows by the added files' map; see `layout.grown_maps`."""
        assert own.skew is not None  # else it is a conflict
        assert written.skew is not None
        metadata = self._transaction.metadata or self._base.metadata
        columns = skewed_columns(metadata.columns, own.skew)
        tables = metadata.arrangement.skew
        most = MAX_CELLS if tables is None or tables.auto is None else tables.auto.most
        grow = partial(
            grown,
            own.skew,
            lambda: read_files(self._base.store, self._base.id, old),
            written.skew,
            files,
            [column.column_type for column in columns],
            StatedTuples(columns),
        )
        try:
            now = grow(most)
        except (TableNotFoundError, MetastoreDamagedError):
            # An unreadable list does not stop an append.
            now = grow(len(own.skew.cells))
        arrangement = msgspec.structs.replace(own, skew=now.skew)
        if now.before is None:
            return self._entries.entry(old.location, now.files, arrangement, old)
        return self._entries.entry(old.location, (*now.before, *now.files), arrangement)

    def _default_location(self, key: bytes) -> str:
        return self._transaction.placement.location_of(key)


def _absolute(file: FileRecord, folder: str) -> FileRecord:
    if is_absolute(file.path):
        return file
    return msgspec.structs.replace(file, path=f"{folder}/{file.path}")
