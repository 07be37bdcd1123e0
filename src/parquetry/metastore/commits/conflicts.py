"""Whether what others committed meanwhile is in the way of a transaction.

Appends are never in each other's way, unless their files are arranged, and the partition that others made meanwhile
is arranged otherwise; nor are those that write a partition's list of files in another form. Whatever else a transaction does to a partition was decided by looking
at it, so it must still be as it was in the version the transaction is based on; a scope must select the same
partitions, all unchanged, and so must what was read for the transaction, in the version in which it was read; metadata must not have been changed by two. Nor may a column be given another type while
files are written into buckets by it: the hash of a value depends on its type.

Who adds a partition, to take files in, must not take in what others took in meanwhile, nor what they took in and
then took out or renamed: an absent partition that came and went is another one. The same holds for what an
adopting transaction forgets of files taken out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parquetry.errors import CommitConflictError
from parquetry.metastore.commits.arrangement_rules import is_arranged_otherwise, is_hashed_otherwise, retyped
from parquetry.metastore.commits.changes import Add, Append, Change, ReadScope, Recut
from parquetry.metastore.commits.prepared import PreparedCommit
from parquetry.metastore.storage import Head, TableMetadata
from parquetry.metastore.versions import PartitionRow, TableSnapshot, load


class Conflicts:
    """What a transaction takes for granted.

    Args:
        prepared: the transaction, and what follows from it.
    """

    def __init__(self, prepared: PreparedCommit) -> None:
        self._prepared = prepared
        self._transaction = prepared.transaction
        self._base = prepared.base
        self._metadata = prepared.metadata

    def check(
        self, head: Head, latest: Mapping[bytes, PartitionRow], removed_rows: Mapping[bytes, PartitionRow]
    ) -> None:
        """Compare the newest version with the base.

        Args:
            head: of the table now.
            latest: the rows in it of the partitions to be changed.
            removed_rows: the rows in it of the files taken out that the commit is to write anew.

        Raises:
            CommitConflictError: something has changed that the transaction relies on.
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
            and retyped(self._base.metadata, self._metadata)
        ):  # a partition that was made meanwhile may be in buckets by such a column
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
        if self._transaction.checks and removed_rows:
            before = self._base.visible.removed_file_records().newest(removed_rows)
            for path, row in removed_rows.items():
                if row != before.get(path):
                    raise self._conflict(f"what is known of {path.decode()}", now, row.ticket)
        for scope, was in zip(self._transaction.scopes, self._prepared.in_scope, strict=True):
            here = {partition.key: partition.ticket for partition in now.partitions(scope.plan)}
            for key in sorted(here.keys() | was.keys()):
                if here.get(key) != was.get(key):
                    raise self._conflict(f"partition {self._base.describe(key)}", now, here.get(key))
        self.check_reads(now)

    def check_reads(self, now: TableSnapshot) -> None:
        """Compare what was read for the transaction with a later version.

        Raises:
            CommitConflictError: something that was read has changed.
        """
        for read in self._transaction.reads:
            self._check_read(read, now)

    def _check_read(self, read: ReadScope, now: TableSnapshot) -> None:
        since = now.history(read.version.version + 1)
        if all(commit.operation in read.harmless for commit in since):
            return
        was = {partition.key: partition.ticket for partition in read.version.partitions(read.plan)}
        here = {partition.key: partition.ticket for partition in now.partitions(read.plan)}
        for key in sorted(here.keys() | was.keys()):
            if here.get(key) != was.get(key):
                what = f"partition {self._base.describe(key)}, which was read for it,"
                raise self._conflict(what, now, here.get(key), read.version.version)

    def _conflict(
        self, what: str, now: TableSnapshot, ticket: int | None = None, since: int | None = None
    ) -> CommitConflictError:
        since = self._base.version if since is None else since
        by = f"between versions {since} and {now.version}"
        for commit in now.history() if ticket is not None else ():
            if commit.version <= since:
                break
            if commit.ticket == ticket:
                by = f"by version {commit.version} ({commit.operation})"
        return CommitConflictError(
            f"Table {self._base.label}: {what} was changed {by}, while {self._transaction.operation!r} "
            f"was being prepared on version {self._base.version}; nothing was written: run it again."
        )


def _placement(metadata: TableMetadata) -> tuple[Any, ...]:
    """Return what decides where a partition's files lie, how they are read, and which rows may be in them."""
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
