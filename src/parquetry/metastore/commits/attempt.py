"""One attempt of a commit: the rows that it writes under one ticket before a version shows them.

`Merge` applies each change to the newest row of its partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from parquetry.data_files import FileRecord
from parquetry.errors import MetastoreDamagedError, TableNotFoundError
from parquetry.layout import ArrangementSpec, grow_map
from parquetry.locations import is_absolute
from parquetry.metastore.cleanup import retention
from parquetry.metastore.commits.change_counts import PartitionCounts
from parquetry.metastore.manifest.entries import TOMBSTONE, EntryWriter, encode_entry, read_files
from parquetry.metastore.partition_rows.indexes import entry_rows
from parquetry.metastore.partition_rows.visible_rows import PartitionRow, entry_of
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.format import IN_COLUMNS, require_format
from parquetry.metastore.storage.head import Head, live_head
from parquetry.metastore.storage.model import PartitionEntry, PartitionIndex, Totals
from parquetry.metastore.storage.origin import ChangeCounts
from parquetry.metastore.storage.owner import uptime_s
from parquetry.metastore.storage.wire import decode_arrangement, encode
from parquetry.metastore.transactions.arrangement_rules import arrangement_for
from parquetry.metastore.transactions.changes import Append, Drop, FileChange, Grow, Move, Recut, Restore
from parquetry.metastore.transactions.prepared import CommitTask, PreparedCommit, abort_error
from parquetry.metastore.versions.snapshot import load_metadata
from parquetry.store import Store


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
        self._counts = PartitionCounts(self._base.store, self._base.id)

    def take_chunk_rows(self) -> list[tuple[bytes, bytes]]:
        """Return the rows of the new chunks, and of their summaries, since the last call."""
        rows, self._entries.chunk_rows = self._entries.chunk_rows, []
        return rows

    def row(self, key: bytes, current: PartitionRow | None) -> tuple[bytes, Totals, ChangeCounts]:
        """Return the new row of a partition, the difference that it makes to the totals, and its counts.

        Args:
            key: key of the partition.
            current: its row now.
        """
        change = self._prepared.changes[key]
        # REPLACE TABLE keeps nothing of the base: totals begin at zero, and damaged rows are no hindrance.
        old = None if self._transaction.successor else entry_of(current)
        totals = Totals() if old is None else Totals().plus(old, -1)
        counts = partial(self._counts.count, change, old)
        match change:
            case Drop():
                return TOMBSTONE, totals, counts(None, "")
            case Restore(entry):
                new = entry
            case Move(source):
                new = self._move_entry(key, source)
            case Recut():
                assert old is not None  # else it is a conflict
                new = self._entries.recut(old)
            case FileChange():
                new = self._merge_files(key, change, old)
        return encode_entry(new), totals.plus(new), counts(new, self._default_location(key))

    def _move_entry(self, key: bytes, source: bytes) -> PartitionEntry:
        entry = entry_of(self._prepared.before[source])
        assert entry is not None
        lies = entry.location or self._default_location(source)
        location = None if lies == self._default_location(key) else lies
        return msgspec.structs.replace(entry, location=location)

    def _merge_files(self, key: bytes, change: FileChange, old: PartitionEntry | None) -> PartitionEntry:
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
            return self._grow_partition(old, arrangement, change.arrangement, files)
        return self._entries.entry(old.location, files, arrangement, old)

    def _grow_partition(
        self, old: PartitionEntry, own: ArrangementSpec, written: ArrangementSpec, files: Sequence[FileRecord]
    ) -> PartitionEntry:
        """Return a partition's entry whose map grows by the added files' map; see `layout.grown_maps`."""
        metadata = self._transaction.metadata or self._base.metadata
        grow = partial(grow_map, own, written, metadata.arrangement, metadata.columns, files)
        try:
            now = grow(lambda: read_files(self._base.store, self._base.id, old))
        except (TableNotFoundError, MetastoreDamagedError):
            # An unreadable list does not stop an append.
            now = grow(None)
        if now.before is None:
            return self._entries.entry(old.location, now.files, now.arrangement, old)
        return self._entries.entry(old.location, (*now.before, *now.files), now.arrangement)

    def _default_location(self, key: bytes) -> str:
        return self._transaction.placement.location_of(key)


def _absolute(file: FileRecord, folder: str) -> FileRecord:
    if is_absolute(file.path):
        return file
    return msgspec.structs.replace(file, path=f"{folder}/{file.path}")


MAX_UNSEEN_S = 5 * 60.0
"""Seconds after which a writer looks whether its ticket is still pending, before it writes rows."""
KEYS_PER_JOURNAL_ROW = 1000
"""Keys in one row of the journal: a commit to a million partitions writes a thousand such rows."""
ROWS_PER_WRITE = 5000
"""Rows of one call of `Store.put_many`."""


Row = tuple[bytes, bytes]


class AttemptRows(NamedTuple):
    """Rows to be written.

    Attributes:
        journal: the journal, which is written first.
        rows: the other rows.
    """

    journal: list[Row]
    rows: list[Row]


class Attempt:
    """The rows written under one ticket.

    Args:
        task: the commit.
        ticket: the ticket.
        seen: when the ticket was last known to be pending, by `uptime_s`.

    Attributes:
        ticket: the ticket.
        metadata: the metadata of the new version, as of the last call of `write`.
        built: for each partition, the ticket of the row on which its new row was built, and the difference
            that the new row makes to the totals.
        counts: how much the new rows change.
        in_doubt: whether rows of the ticket may reappear after they were deleted, because a write got no
            answer.
    """

    def __init__(self, task: CommitTask, ticket: int, seen: float) -> None:
        self._task = task
        self._seen = seen
        self._changes = task.prepared.changes
        self._merge = Merge(task.prepared, ticket)
        self._wrote_journal = False
        self._indexes: tuple[PartitionIndex, ...] = ()
        self.ticket = ticket
        self.metadata = task.base.metadata
        self.built: dict[bytes, tuple[int, Totals]] = {}
        self.counts = ChangeCounts()
        self.in_doubt = False

    def is_late(
        self, latest: Mapping[bytes, PartitionRow], removed_rows: Mapping[bytes, PartitionRow]
    ) -> bool:
        """Return whether the commit needs another ticket.

        It does if a row has a later ticket already, or if a row would get a second value under this ticket.

        Args:
            latest: the newest rows of the partitions to change.
            removed_rows: the newest rows of the removed files to record.
        """
        return any(row.ticket > self.ticket for row in (*latest.values(), *removed_rows.values())) or any(
            on != _ticket_of(latest.get(key)) for key, (on, _) in self.built.items()
        )

    def write(self, head: Head, latest: Mapping[bytes, PartitionRow]) -> None:
        """Write the rows that have not been written yet.

        Args:
            head: the head of the version to build on.
            latest: the rows of the partitions to change in that version.
        """
        write_all([self], [self.gather(head, latest)])

    def gather(self, head: Head, latest: Mapping[bytes, PartitionRow]) -> AttemptRows:
        """Return the rows that have not been written yet, and are to be written next.

        Args:
            head: the head of the version to build on.
            latest: the rows of the partitions to change in that version.
        """
        table, metadata = self._task.table, self._task.prepared.metadata
        self.metadata = metadata or load_metadata(self._task.store, table, head.commit)
        age = keyspace.complement(self.ticket)
        # The newest commit is only in the head. It must be in the log before this commit takes its place.
        rows = [(keyspace.commit_key(table, head.commit.version), encode(head.commit))]
        rows += self._partition_rows(latest, self._index_again())
        journal: list[Row] = []
        if not self._wrote_journal:
            journal = self._journal_rows()
            if metadata is not None:
                rows.append((keyspace.metadata_key(table, self.ticket), encode(metadata)))
            files = keyspace.removed_files_prefix(table)
            rows += ((files + path + age, value) for path, value in sorted(self._task.removed_rows.items()))
        chunk_rows = self._merge.take_chunk_rows()
        if chunk_rows:
            require_format(self._task.store, IN_COLUMNS)
        return AttemptRows(journal, [*chunk_rows, *rows])  # chunks come before the rows that refer to them

    def _index_again(self) -> list[bytes]:
        """Return the keys of written rows that need entries again: the table has got another index."""
        if self.metadata.indexes == self._indexes:
            return []
        self._indexes = self.metadata.indexes
        return list(self.built)

    def _partition_rows(
        self, latest: Mapping[bytes, PartitionRow], indexed: list[bytes]
    ) -> list[tuple[bytes, bytes]]:
        """Return the missing new rows of partitions, and index entries for them and for other keys.

        Args:
            latest: the rows on which to build.
            indexed: the other keys that need entries.
        """
        prefix, age = keyspace.partition_prefix(self._task.table), keyspace.complement(self.ticket)
        rows = []
        for key in sorted(self._changes):
            if key in self.built:  # then the row it was built on is still the latest
                continue
            row = latest.get(key)
            value, difference, counts = self._merge.row(key, row)
            self.built[key] = (_ticket_of(row), difference)
            self.counts += counts
            rows.append((prefix + key + age, value))
            indexed.append(key)
        leads = ((key, age, TOMBSTONE if isinstance(self._changes[key], Drop) else b"") for key in indexed)
        return [*rows, *entry_rows(self._task.table, self._indexes, leads)]

    def require_pending(self) -> None:
        """Make sure that the ticket is not aborted, if some minutes have passed since the last look.

        Raises:
            CommitAbortedError: another writer took this one for dead. A vacuum may forget the ticket then,
                and later rows would be shown (`deletion.forget_tickets`).
            TableNotFoundError: the table was dropped.
        """
        now = uptime_s()
        if now - self._seen < MAX_UNSEEN_S:
            return
        message = f"Table {self._task.base.label} was dropped meanwhile; nothing was written."
        if self.ticket not in live_head(self._task.store, self._task.table, message).pending:
            raise abort_error(self._task.transaction)
        self._seen = now

    @property
    def store(self) -> Store:
        """Return the metastore's store."""
        return self._task.store

    def _journal_rows(self) -> list[Row]:
        parts = [*enumerate(_parts(self._changes) or [[]])]
        parts += enumerate(_parts(self._task.removed_rows), keyspace.FIRST_PART_OF_REMOVED_FILES)
        self._wrote_journal = True
        return [
            (keyspace.journal_key(self._task.table, self.ticket, part), encode(some)) for part, some in parts
        ]

    def delete_rows(self) -> None:
        """Remove all rows of the attempt, whose ticket is aborted."""
        task = self._task
        retention.delete_rows(
            task.store, task.table, self.ticket, self._changes, self._indexes, task.removed_rows
        )


def write_all(attempts: Sequence[Attempt], gathered: Sequence[AttemptRows]) -> None:
    """Write the rows of attempts that begin together: all journals, and then the other rows.

    Args:
        attempts: of tables in one store.
        gathered: their rows.

    Raises:
        CommitAbortedError, TableNotFoundError: as `Attempt.require_pending` does.
    """
    store = attempts[0].store

    def put(rows: Sequence[Row]) -> bool:
        for attempt in attempts:
            attempt.require_pending()
        return store.put_many(rows, keyspace.fields_of)

    if journals := [row for each in gathered for row in each.journal]:
        put(journals)
    rows = [row for each in gathered for row in each.rows]
    for start in range(0, len(rows), ROWS_PER_WRITE):
        in_doubt = put(rows[start : start + ROWS_PER_WRITE])
        for attempt in attempts:
            attempt.in_doubt |= in_doubt


def _parts(keys: Iterable[bytes]) -> list[list[bytes]]:
    """Return keys in groups, one for each row of the journal."""
    every = sorted(keys)
    return [
        every[start : start + KEYS_PER_JOURNAL_ROW] for start in range(0, len(every), KEYS_PER_JOURNAL_ROW)
    ]


def _ticket_of(row: PartitionRow | None) -> int:
    return 0 if row is None else row.ticket
