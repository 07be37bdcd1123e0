"""REPLACE TABLE: a new definition and content for a table, gathered out of sight, then shown by one commit.

The table keeps its name, its id and its history. Earlier versions are read with their own columns and
partition columns, and a rollback brings them back. No reader sees the table without content in between.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from parquetry.errors import CommitConflictError, MetastoreDamagedError
from parquetry.locations import join_location, path_below
from parquetry.metastore.commits.committer import Successor, commit
from parquetry.metastore.commits.removed_files import files_removed, live_files
from parquetry.metastore.storage.head import live_head, pause
from parquetry.metastore.storage.model import RemovedFileRecord, TableMetadata
from parquetry.metastore.transactions.changes import Change, FileChange, Requirements
from parquetry.metastore.transactions.prepared import require_name
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot, load

MAX_REPLACE_ATTEMPTS = 100
"""Attempts to replace the content while others keep committing. What they commit is replaced, too."""


class Replacement:
    """A new definition and new content for a table.

    Args:
        base: the present table.
        metadata: its new metadata.

    Attributes:
        id: random id of this replacement.
        snapshot: the table with its new definition, without partitions. A commit on it waits for
            `make_visible`.
    """

    def __init__(self, base: TableSnapshot, metadata: TableMetadata) -> None:
        self.id = os.urandom(8)
        self._base = base
        self._changes: dict[bytes, Change] = {}
        self._summary: dict[str, str] = {}
        self._requirements = Requirements(base.commit.next_ticket)
        self._transaction: Transaction | None = None
        metadata = msgspec.structs.replace(
            metadata, created_at=base.metadata.created_at, replacement=self.id.hex()
        )
        metadata.require_arrangeable(metadata.arrangement)
        self.snapshot: TableSnapshot = Successor(base, metadata, self.gather)

    def gather(self, transaction: Transaction, summary: Mapping[str, str]) -> None:
        """Keep the changes of a commit on the snapshot."""
        self._changes.update(transaction.changes)
        self._requirements.add(transaction.requirements)
        self._summary.update(summary)

    @property
    def may_be_visible(self) -> bool:
        """Return whether a version may show the new content, so that its files must stay."""
        return self._transaction is not None and self._transaction.may_be_visible

    @property
    def files(self) -> list[str]:
        """Return the locations of the new files, which no version lists before `make_visible`."""
        locations = []
        for key, change in self._changes.items():
            if isinstance(change, FileChange):
                folder = change.location or self.snapshot.placement.location_of(key)
                locations += [join_location(folder, file.path) for file in change.files]
        return locations

    def make_visible(self) -> TableSnapshot:
        """Replace all content of the table, including what others have committed meanwhile.

        Returns:
            The new version.

        Raises:
            TableNotFoundError: the table was dropped meanwhile.
            CommitConflictError: the table was renamed meanwhile, or others commit all the time. If the
                statement must be serializable: others have committed since it began.
            CommitUnknownError: the store does not answer whether the commit took place.
        """
        if self._requirements.reads:  # the content is right only for the version that was read
            return self._replace(self._base)
        attempt = 0
        while True:
            newest = self._newest()
            try:
                return self._replace(newest)
            except CommitConflictError:
                attempt += 1
                if attempt == MAX_REPLACE_ATTEMPTS:
                    raise
                pause(attempt)

    def _newest(self) -> TableSnapshot:
        base = self._base
        head = live_head(
            base.store, base.id, f"Table {base.label} was dropped meanwhile; nothing was written."
        )
        require_name(base, head)  # trying again would not help
        return load(base.store, base.id, head)

    def _replace(self, now: TableSnapshot) -> TableSnapshot:
        self._transaction = transaction = Transaction(now, "replace")
        # It conflicts with any other commit, so what was read needs no comparison.
        transaction.requirements = replace(self._requirements, reads=[], keeps_name=True)
        transaction.become(self.snapshot, self._changes)
        if now.metadata.location.rstrip("/") != self.snapshot.metadata.location.rstrip("/"):
            transaction.leave_records()
            transaction.record_removed_files(self._removed_files(now))
        return commit(transaction, self._summary)

    def _removed_files(self, now: TableSnapshot) -> dict[str, RemovedFileRecord | None]:
        """Return the records of removed files, by their paths below the new location.

        They include foreign files there that the table lists until now: a later sync must not bring them
        back.
        """
        location = self.snapshot.metadata.location
        try:
            return self._records_at(now, location)
        except MetastoreDamagedError:  # an unreadable table can still be replaced
            return {}

    def _records_at(self, now: TableSnapshot, location: str) -> dict[str, RemovedFileRecord | None]:
        recorded = {join_location(now.metadata.location, each.path): each for each in files_removed(now)}
        removed = {path: RemovedFileRecord(file.bytes, file.modified) for path, file in live_files(now)}
        removed |= {path: each.record for path, each in recorded.items()}
        records: dict[str, RemovedFileRecord | None] = {each.path: None for each in recorded.values()}
        for path, record in removed.items():
            if (below := path_below(location, path)) is not None:
                records[below] = record
        return records
