"""The rows of one attempt: all rows that a commit writes under one ticket before a version shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from parquetry.metastore.cleanup import recovery
from parquetry.metastore.commits.apply import Merge
from parquetry.metastore.commits.attempt.task import CommitTask
from parquetry.metastore.commits.changes import Drop
from parquetry.metastore.manifest.entries import TOMBSTONE
from parquetry.metastore.storage.format import IN_COLUMNS, require_format
from parquetry.metastore.storage.head import Head
from parquetry.metastore.storage.keyspace import (
    FIRST_PART_OF_REMOVED_FILES,
    commit_key,
    complement,
    fields_of,
    journal_key,
    metadata_key,
    partition_prefix,
    removed_files_prefix,
)
from parquetry.metastore.storage.model import PartitionIndex, Totals
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.versions.indexes import entry_rows
from parquetry.metastore.versions.snapshot import load_metadata
from parquetry.metastore.versions.visible_rows import PartitionRow

KEYS_PER_JOURNAL_ROW = 1000
"""Keys in one row of the journal: a commit to a million partitions writes a thousand such rows."""
ROWS_PER_WRITE = 5000
"""Rows of one call of `Store.put_many`."""


class Attempt:
    """The rows written under one ticket.

    Args:
        task: the commit.
        ticket: the ticket.

    Attributes:
        ticket: the ticket.
        metadata: the metadata of the new version, as of the last call of `write`.
        built: for each partition, the ticket of the row on which its new row was built, and the difference
            that the new row makes to the totals.
        in_doubt: whether rows of the ticket may reappear after they were deleted, because a write got no
            answer.
    """

    def __init__(self, task: CommitTask, ticket: int) -> None:
        self._task = task
        self._changes = task.prepared.changes
        self._merge = Merge(task.prepared, ticket)
        self._wrote_journal = False
        self._indexes: tuple[PartitionIndex, ...] = ()
        self.ticket = ticket
        self.metadata = task.base.metadata
        self.built: dict[bytes, tuple[int, Totals]] = {}
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
        return any(found.ticket > self.ticket for found in (*latest.values(), *removed_rows.values())) or any(
            on != _ticket_of(latest.get(key)) for key, (on, _) in self.built.items()
        )

    def write(self, head: Head, latest: Mapping[bytes, PartitionRow]) -> None:
        """Write the rows that have not been written yet.

        Args:
            head: the head of the version to build on.
            latest: the rows of the partitions to change in that version.
        """
        table, metadata = self._task.table, self._task.prepared.metadata
        self.metadata = metadata or load_metadata(self._task.store, table, head.commit.metadata)
        age = complement(self.ticket)
        # The newest commit is only in the head. It must be in the log before this commit takes its place.
        rows = [(commit_key(table, head.commit.version), encode(head.commit))]
        rows += self._partition_rows(latest, self._index_again())
        if not self._wrote_journal:
            self._write_journal()
            if metadata is not None:
                rows.append((metadata_key(table, self.ticket), encode(metadata)))
            files = removed_files_prefix(table)
            rows += ((files + path + age, value) for path, value in sorted(self._task.removed_rows.items()))
        chunk_rows = self._merge.take_chunk_rows()
        if chunk_rows:
            require_format(self._task.store, IN_COLUMNS)
        rows = [*chunk_rows, *rows]  # chunks come before the rows that refer to them
        for start in range(0, len(rows), ROWS_PER_WRITE):
            self.in_doubt |= self._task.store.put_many(rows[start : start + ROWS_PER_WRITE], fields_of)

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
        prefix, age = partition_prefix(self._task.table), complement(self.ticket)
        rows = []
        for key in sorted(self._changes):
            if key in self.built:  # then the row it was built on is still the latest
                continue
            found = latest.get(key)
            value, difference = self._merge.row(key, found)
            self.built[key] = (_ticket_of(found), difference)
            rows.append((prefix + key + age, value))
            indexed.append(key)
        leads = ((key, age, TOMBSTONE if isinstance(self._changes[key], Drop) else b"") for key in indexed)
        return [*rows, *entry_rows(self._task.table, self._indexes, leads)]

    def _write_journal(self) -> None:
        parts = [*enumerate(_parts(self._changes) or [[]])]
        parts += enumerate(_parts(self._task.removed_rows), FIRST_PART_OF_REMOVED_FILES)
        self._task.store.put_many(
            (journal_key(self._task.table, self.ticket, part), encode(some)) for part, some in parts
        )
        self._wrote_journal = True

    def delete_rows(self) -> None:
        """Remove all rows of the attempt, whose ticket is aborted."""
        task = self._task
        recovery.delete_rows(
            task.store, task.table, self.ticket, self._changes, self._indexes, task.removed_rows
        )


def _parts(keys: Iterable[bytes]) -> list[list[bytes]]:
    """Return keys in groups, one for each row of the journal."""
    every = sorted(keys)
    return [
        every[start : start + KEYS_PER_JOURNAL_ROW] for start in range(0, len(every), KEYS_PER_JOURNAL_ROW)
    ]


def _ticket_of(row: PartitionRow | None) -> int:
    return 0 if row is None else row.ticket
