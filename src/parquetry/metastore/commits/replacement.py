"""REPLACE TABLE: another definition and other content for a table, gathered out of sight and shown by one commit.

The table stays what it is: its name, its id, its history. Earlier versions are read with their own columns and partition columns,
and a rollback brings them back. Nobody sees the table without content in between.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from parquetry.errors import CommitConflictError, MetastoreDamagedError
from parquetry.locations.uri import join_location, path_below
from parquetry.metastore.commits.attempt.task import require_name
from parquetry.metastore.commits.changes import Change, Given, ReadScope
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.removed_files import live_files, taken_out
from parquetry.metastore.commits.successor import Successor
from parquetry.metastore.commits.transaction import Transaction
from parquetry.metastore.storage.head import live_head, pause
from parquetry.metastore.storage.model import TableMetadata, TakenOut
from parquetry.metastore.versions.snapshot import TableSnapshot, load

ATTEMPTS = 100
"""How often a replacement is tried while others keep committing to the table: what they write is replaced, too."""


class Replacement:
    """What a table is to become.

    Args:
        base: the table as it is.
        metadata: as it is to be.

    Attributes:
        id: random; tells replacements apart.
        snapshot: the table as it is to be defined, without partitions. A commit on it is kept for `publish`.
    """

    def __init__(self, base: TableSnapshot, metadata: TableMetadata) -> None:
        self.id = os.urandom(8)
        self._base = base
        self._changes: dict[bytes, Change] = {}
        self._summary: dict[str, str] = {}
        self._reads: list[ReadScope] = []
        self._transaction: Transaction | None = None
        metadata = msgspec.structs.replace(
            metadata, created_at=base.metadata.created_at, replacement=self.id.hex()
        )
        metadata.require_arrangeable(metadata.arrangement)
        self.snapshot: TableSnapshot = Successor(base, metadata, self.gather)

    def gather(self, transaction: Transaction, summary: Mapping[str, str]) -> None:
        """Take in what a commit on the snapshot says."""
        self._changes.update(transaction.changes)
        self._reads += transaction.reads
        self._summary.update(summary)

    @property
    def may_be_visible(self) -> bool:
        """Return whether a version may show what was gathered, so that its files must stay."""
        return self._transaction is not None and self._transaction.may_be_visible

    @property
    def files(self) -> list[str]:
        """Return the locations of the files that were written, which nobody lists before the commit."""
        found = []
        for key, change in self._changes.items():
            if isinstance(change, Given):
                folder = change.location or self.snapshot.placement.location_of(key)
                found += [join_location(folder, file.path) for file in change.files]
        return found

    def publish(self) -> TableSnapshot:
        """Show what was gathered in place of all that the table holds, whatever others have written to it meanwhile.

        Returns:
            The version made.

        Raises:
            TableNotFoundError: the table was dropped meanwhile.
            CommitConflictError: it was renamed meanwhile, or others commit all the time; where the statement has to be serializable, if
                others have committed since it began.
            CommitUnknownError: the store does not say whether the commit took place.
        """
        if self._reads:  # the content is right for the version that was read, and no other
            return self._publish(self._base)
        attempt = 0
        while True:
            newest = self._newest()
            try:
                return self._publish(newest)
            except CommitConflictError:
                attempt += 1
                if attempt == ATTEMPTS:
                    raise
                pause(attempt)

    def _newest(self) -> TableSnapshot:
        base = self._base
        head = live_head(
            base.store, base.id, f"Table {base.label} was dropped meanwhile; nothing was written."
        )
        require_name(base, head)  # trying again would not help
        return load(base.store, base.id, head)

    def _publish(self, now: TableSnapshot) -> TableSnapshot:
        self._transaction = transaction = Transaction(now, "replace")
        transaction.require_name()
        transaction.become(self.snapshot, self._changes)
        if now.metadata.location.rstrip("/") != self.snapshot.metadata.location.rstrip("/"):
            transaction.leave_records()
            transaction.record_taken_out(self._taken_out(now))
        return commit(transaction, self._summary)

    def _taken_out(self, now: TableSnapshot) -> dict[str, TakenOut | None]:
        """Return what is known of files taken out, by their paths below the new location.

        Files of others that the table listed until now, and that lie there, were not meant to come back.
        """
        location = self.snapshot.metadata.location
        try:
            return self._known_there(now, location)
        except MetastoreDamagedError:  # a table that cannot be read can be replaced all the same
            return {}

    def _known_there(self, now: TableSnapshot, location: str) -> dict[str, TakenOut | None]:
        known = {join_location(now.metadata.location, each.path): each for each in taken_out(now)}
        left = {path: TakenOut(file.bytes, file.modified) for path, file in live_files(now)}
        left |= {path: each.record for path, each in known.items()}
        records: dict[str, TakenOut | None] = {each.path: None for each in known.values()}
        for path, record in left.items():
            if (below := path_below(location, path)) is not None:
                records[below] = record
        return records
