"""Conflicts of a transaction with what others have committed since its base.

In this table, *placement* is the partition columns, the location, the format and the checks of a table.

| the transaction                      | conflicts if others have, since its base,                       |
|--------------------------------------|-----------------------------------------------------------------|
| makes any change                     | changed the placement, or replaced the table                    |
| appends files to a partition         | given it another arrangement than the files have                |
| rewrites a partition's list of files | dropped the partition                                           |
| changes a partition in another way   | changed the partition                                           |
| adds a partition                     | made the partition, even if it was dropped or renamed again     |
| replaces a scope, or has read one    | added, changed or dropped a partition in it                     |
| changes metadata                     | changed metadata                                                |
| changes the placement                | committed anything                                              |
| gives a column another type          | changed how partitions are arranged                             |
| puts files into buckets by a column  | given the column another type: the hash depends on the type     |

And any change conflicts with a restore of an older dump, which lacks its base.

An append does not depend on the files that a partition already has, so appends do not conflict with each
other. The exception is files with an arrangement: see `arrangement_rules`. Any other change of a partition
was decided by looking at it, so the partition must still be the one that was looked at.

A transaction that adds a partition adopts files there. If another one adopted the same files and then dropped
the partition, its absence is another absence: the files must not come back. For the same reason a transaction
that adopts files must find the records of removed files as they were in its base.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parquetry.errors import CommitConflictError
from parquetry.metastore.partition_rows.visible_rows import PartitionRow
from parquetry.metastore.storage.head import Head
from parquetry.metastore.storage.model import TableMetadata
from parquetry.metastore.transactions.arrangement_rules import (
    find_retyped_columns,
    is_arranged_otherwise,
    is_hashed_otherwise,
)
from parquetry.metastore.transactions.changes import Add, Append, Change, ReadScope, Recut
from parquetry.metastore.transactions.prepared import PreparedCommit
from parquetry.metastore.versions.snapshot import TableSnapshot, load, load_commit


class Conflicts:
    """The conditions that a transaction relies on, to be compared with the newest version.

    Args:
        prepared: the transaction with its effects.
    """

    def __init__(self, prepared: PreparedCommit) -> None:
        self._prepared = prepared
        self._transaction = prepared.transaction
        self._base = prepared.base
        self._metadata = prepared.metadata

    def require_same_history(self, head: Head) -> None:
        """Make sure that the base is a version of the table, and no lost one of the same number.

        Args:
            head: the table's head now.

        Raises:
            CommitConflictError: the store was emptied and restored from an older dump since.
        """
        base = self._base
        known = load_commit(base.store, base.id, head, base.version)
        if head.commit.version < base.version or (known is not None and known.id != base.commit.id):
            raise CommitConflictError(
                f"Table {base.label}: the metastore was restored from a dump, which lacks version {base.version}, while "
                f"{self._transaction.operation!r} was being prepared on it; nothing was written: run it again."
            )

    def check(
        self, head: Head, latest: Mapping[bytes, PartitionRow], removed_rows: Mapping[bytes, PartitionRow]
    ) -> None:
        """Compare the newest version with the base.

        Args:
            head: the table's head now.
            latest: the newest rows of the partitions to change.
            removed_rows: the newest records of the removed files whose records the commit writes.

        Raises:
            CommitConflictError: another commit changed something that the transaction relies on.
        """
        now = load(self._base.store, self._base.id, head)
        is_altered = now.commit.metadata != self._base.commit.metadata
        if is_altered and (
            self._metadata is not None or _placement(now.metadata) != _placement(self._base.metadata)
        ):
            raise self._conflict("its columns, location, constraints or properties", now)
        if self._transaction.successor or (
            self._metadata is not None and _placement(self._metadata) != _placement(self._base.metadata)
        ):
            raise self._conflict("its content", now)
        if (
            self._metadata is not None
            and now.totals.arrangements != self._base.totals.arrangements
            and find_retyped_columns(self._base.metadata, self._metadata)
        ):  # a new partition may have buckets by such a column
            raise self._conflict("how its partitions are arranged", now)
        for key, change in self._prepared.changes.items():
            row = latest.get(key)
            in_base = self._prepared.before.get(key)
            if _conflicts(change, in_base, row) or is_arranged_otherwise(
                self._transaction, change, in_base, row
            ):
                ticket = None if row is None else row.ticket
                raise self._conflict(f"partition {self._base.describe(key)}", now, ticket)
            if is_altered and is_hashed_otherwise(self._transaction, change, in_base, now.metadata):
                raise self._conflict("the type of a column that rows are arranged by", now)
        if self._transaction.requirements.checks and removed_rows:
            before = self._base.visible.removed_file_records().newest(removed_rows)
            for path, row in removed_rows.items():
                if row != before.get(path):
                    raise self._conflict(f"the record of {path.decode()}", now, row.ticket)
        for scope, was in zip(self._transaction.scopes, self._prepared.in_scope, strict=True):
            here = {partition.key: partition.ticket for partition in now.partitions(scope.plan)}
            for key in sorted(here.keys() | was.keys()):
                if here.get(key) != was.get(key):
                    raise self._conflict(f"partition {self._base.describe(key)}", now, here.get(key))
        self.check_reads(now)

    def check_reads(self, now: TableSnapshot) -> None:
        """Compare the partitions that were read for the transaction with a later version.

        Raises:
            CommitConflictError: one of them has changed.
        """
        for read in self._transaction.requirements.reads:
            self._check_read(read, now)

    def _check_read(self, read: ReadScope, now: TableSnapshot) -> None:
        check_read(read, now, f"{self._transaction.operation!r}", self._base.version)

    def _conflict(self, what: str, now: TableSnapshot, ticket: int | None = None) -> CommitConflictError:
        of = self._transaction
        return _conflict_of(what, f"{of.operation!r}", now, ticket, self._base.version, remedy=of.remedy)


def check_read(read: ReadScope, now: TableSnapshot, operation: str, prepared_on: int) -> None:
    """Compare partitions that were read with a later version of their table.

    Args:
        read: the partitions.
        now: the version.
        operation: for the message: what they were read for.
        prepared_on: for the message: the version of the table on which this was prepared.

    Raises:
        CommitConflictError: one of them has changed.
    """
    since = now.history(read.version.version + 1)
    if all(commit.operation in read.harmless for commit in since):
        return
    was = {partition.key: partition.ticket for partition in read.version.partitions(read.plan)}
    here = {partition.key: partition.ticket for partition in now.partitions(read.plan)}
    for key in sorted(here.keys() | was.keys()):
        if here.get(key) != was.get(key):
            what = f"partition {read.version.describe(key)}, which was read for it,"
            raise _conflict_of(what, operation, now, here.get(key), prepared_on, read.version.version)


def _conflict_of(
    what: str,
    operation: str,
    now: TableSnapshot,
    ticket: int | None,
    prepared_on: int,
    since: int | None = None,
    remedy: str = "run it again",
) -> CommitConflictError:
    """Return the error for a change by others.

    Args:
        what: that was changed.
        operation: that is refused.
        now: the newest version.
        ticket: ticket of the commit that changed it, or None if it is not known.
        prepared_on: the version on which the operation was prepared.
        since: the version that was read, or None for `prepared_on`.
        remedy: what to do now.
    """
    since = prepared_on if since is None else since
    by = f"between versions {since} and {now.version}"
    for commit in now.history() if ticket is not None else ():
        if commit.version <= since:
            break
        if commit.ticket == ticket:
            by = f"by version {commit.version} ({commit.operation})"
    return CommitConflictError(
        f"Table {now.label}: {what} was changed {by}, while {operation} "
        f"was being prepared on version {prepared_on}; nothing was written: {remedy}."
    )


def _placement(metadata: TableMetadata) -> tuple[Any, ...]:
    """Return the metadata that decide where files are, how they are read, and which rows they may have."""
    columns = tuple((column.physical, column.type) for column in metadata.partition_columns)
    return (
        columns, metadata.descending, metadata.location, metadata.format, metadata.checks, metadata.replacement,
    )  # fmt: skip


def _conflicts(change: Change, before: PartitionRow | None, latest: PartitionRow | None) -> bool:
    if isinstance(change, Append):
        return False
    if isinstance(change, Recut):
        return _state(latest) is None
    if isinstance(change, Add) and latest is not None:  # a tombstone in the base may have been vacuumed since
        return before is None or before.ticket != latest.ticket
    return _state(before) != _state(latest)


def _state(row: PartitionRow | None) -> int | None:
    return None if row is None or row.is_tombstone else row.ticket
