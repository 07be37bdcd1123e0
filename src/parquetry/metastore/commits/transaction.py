"""What a commit is to change, collected before anything is written.

A transaction looks at one version of its table (`base`) and gathers changes to partitions and metadata;
several calls for one partition add up. Others' files that it takes out are recorded (`removed_files`), unless it
says otherwise (`leave_records`). The changes to partitions are those of `changes`; `committer.commit` makes them
visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec

from parquetry.data_files import FileRecord
from parquetry.errors import PartitionExistsError, UnsupportedError
from parquetry.layout import ArrangementSpec
from parquetry.metastore.commits.changes import (
    Add,
    Append,
    Change,
    Drop,
    Grow,
    Move,
    ReadScope,
    Recut,
    Replace,
    Restore,
    Scope,
)
from parquetry.metastore.storage import RemovedFileRecord, StreamBatch, TableMetadata
from parquetry.metastore.versions import PartitionSnapshot, TablePlacement, TableSnapshot
from parquetry.scan import ScanPlan
from parquetry.types import Value


class Transaction:
    """Changes to a table, on top of one version of it. Nothing is written before `commit`.

    Args:
        base: the version.
        operation: for the history.

    Attributes:
        may_be_visible: whether a version may show the changes: the commit took place, or nobody knows whether it did. Files of a
            transaction that failed may be deleted only if not.
    """

    def __init__(self, base: TableSnapshot, operation: str) -> None:
        self.may_be_visible = False
        self.base = base
        self.operation = operation
        self.changes: dict[bytes, Change] = {}
        self.scopes: list[Scope] = []
        self.reads: list[ReadScope] = []
        self.metadata: TableMetadata | None = None
        self.restored_from: int | None = None
        self.checks: list[Callable[[], None]] = []
        self.records = True
        self.removed_files: dict[str, RemovedFileRecord | None] = {}
        self.batch: StreamBatch | None = None
        self.successor: TableSnapshot | None = None
        self.keeps_name = False
        self._done = False

    def append(
        self,
        values: Sequence[Value],
        files: Iterable[FileRecord],
        location: str | None = None,
        arrangement: ArrangementSpec | None = None,
    ) -> None:
        """Add files to a partition, which is made if it is not there. By itself it never conflicts with others' changes.

        Args:
            values: internal values of the partition columns.
            files: paths are relative to where the partition lies in `base` (or to its default location).
            location: what the paths are relative to instead; where a new partition will lie.
            arrangement: that the files were written for, where they name cells or buckets; the partition's own must be
                the same. None: the one that it has in `base`, or else the table's, which a new partition gets.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
        """
        key = self._key(values)
        before = self._changeable(key)
        match before:
            case None:
                self.changes[key] = Append(tuple(files), location, arrangement)
                return
            case Drop():
                before = Replace((), None, arrangement or self.arrangement)
        if location not in (None, before.location) or arrangement not in (None, before.arrangement):
            raise self._changed_twice()
        self.changes[key] = replace(before, files=before.files + tuple(files))

    def grow(
        self, values: Sequence[Value], files: Iterable[FileRecord], arrangement: ArrangementSpec
    ) -> None:
        """Add files to a partition, and to its map the heavy values of theirs; it is made if it is not there.

        By itself it conflicts with others' changes only where a partition is arranged by other columns.

        Args:
            values: internal values of the partition columns.
            files: as for `append`.
            arrangement: that the files were written for: the partition's own, whose map may have more values.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
            UnsupportedError: this transaction changes the partition already.
        """
        key = self._key(values)
        if self._changeable(key) is not None:
            raise self._changed_twice()
        self.changes[key] = Grow(tuple(files), None, arrangement)

    def replace(
        self,
        values: Sequence[Value],
        files: Iterable[FileRecord],
        location: str | None = None,
        arrangement: ArrangementSpec | None = None,
    ) -> None:
        """Put files in place of a partition's; it is made if it is not there.

        Args:
            values: internal values of the partition columns.
            files: as for `append`.
            location: the partition's location from now on; None: as in `base`, else the default.
            arrangement: of the partition from now on; None: its own, or the table's if it is made.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
        """
        key = self._key(values)
        before = self._changeable(key)
        if isinstance(before, Drop):  # the partition is made anew
            arrangement = arrangement or self.arrangement
        kind = Add if isinstance(before, Add) else Replace
        self.changes[key] = kind(tuple(files), location, arrangement)

    def add(
        self,
        values: Sequence[Value],
        location: str | None = None,
        files: Iterable[FileRecord] = (),
        arrangement: ArrangementSpec | None = None,
    ) -> None:
        """Make a partition that must not be there yet; whether it is, shows at `commit`.

        Args:
            values: internal values of the partition columns.
            location: of the partition; None: the default.
            files: as for `append`.
            arrangement: of the partition; None: the table's.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
            PartitionExistsError: this transaction already gives it files.
        """
        key = self._key(values)
        before = self.changes.get(key)
        if before is not None and not isinstance(before, Drop):
            raise PartitionExistsError(
                f"Partition {self.base.placement.describe(key)} of table {self.base.label} is given twice in one commit."
            )
        if before is None:
            self.changes[key] = Add(tuple(files), location, arrangement)
        else:  # the partition is made anew
            self.changes[key] = Replace(tuple(files), location, arrangement or self.arrangement)

    def drop(self, values: Sequence[Value]) -> None:
        """Take a partition out of the table; whether it is there, shows at `commit`. Files are left alone.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
        """
        key = self._key(values)
        if isinstance(self._changeable(key), Add):
            del self.changes[key]
        else:
            self.changes[key] = Drop()

    def rename(self, values: Sequence[Value], new_values: Sequence[Value]) -> None:
        """Give a partition other values; its files stay where they are.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
            UnsupportedError: the same transaction changes one of the two partitions otherwise.
        """
        old, new = self._key(values), self._key(new_values)
        if old == new:
            return
        for key in (old, new):
            if key in self.changes:
                raise UnsupportedError(
                    f"Partition {self.base.placement.describe(key)} of table {self.base.label} is renamed and changed "
                    "otherwise in one commit; make two of it."
                )
        self.changes[old] = Drop(moves=True)
        self.changes[new] = Move(old)

    def restore(self, version: TableSnapshot, partition: PartitionSnapshot) -> None:
        """Put a partition back as it was, in place of what this transaction does to it otherwise.

        Its files are listed again; the commit fails if the version is vacuumed away meanwhile.

        Args:
            version: of the same table.
            partition: in that version.
        """
        oldest = version.version if self.restored_from is None else self.restored_from
        self.restored_from = min(oldest, version.version)
        self.changes[partition.key] = Restore(partition.entry)

    def keep_location(self, partition: PartitionSnapshot) -> None:
        """Have a partition stay where it lies in `base`, whatever becomes of the table's location.

        Args:
            partition: of `base`.

        Raises:
            UnsupportedError: this transaction changes the partition otherwise.
        """
        if partition.key in self.changes:
            raise self._changed_twice()
        if not partition.entry.location:
            self.changes[partition.key] = Restore(
                msgspec.structs.replace(partition.entry, location=partition.location)
            )

    def recut(self, values: Sequence[Value]) -> None:
        """Write a partition's list of files anew, in its newest form, full chunks in the table's order.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
            UnsupportedError: this transaction changes the partition otherwise.
        """
        key = self._key(values)
        if key in self.changes:
            raise self._changed_twice()
        self.changes[key] = Recut()

    def replace_where(self, plan: ScanPlan | None) -> None:
        """Drop all partitions of `base` that a plan selects, save those that this transaction gives files.

        Those begin empty: an `append` to them replaces what they hold. The commit conflicts with whatever
        others add, change or drop in the scope meanwhile.

        Args:
            plan: the scope; None: the whole table.

        Raises:
            UnsupportedError: the plan may select partitions that do not fulfil its filter, or uses an index,
                which says nothing of later versions.
        """
        if plan is not None and plan.indexes:
            raise UnsupportedError(
                f"Partitions of table {self.base.label} cannot be replaced by a plan for an index; plan for "
                "their own keys."
            )
        if plan is not None and not plan.exact:
            raise UnsupportedError(
                f"Partitions of table {self.base.label} cannot be replaced by a filter that does not decide "
                "for each partition; filter on partition columns only."
            )
        self.scopes.append(Scope(plan))

    def rely_on(
        self, version: TableSnapshot, plan: ScanPlan | None, harmless: frozenset[str] = frozenset()
    ) -> None:
        """Say what was read for this transaction: the commit conflicts with whatever others add, change or drop there meanwhile.

        Args:
            version: of the table, that was read.
            plan: of partitions' own keys; it may select more than was read. None: the whole table.
            harmless: operations that are not in the way, where there were no others.
        """
        self.reads.append(ReadScope(version, plan, harmless))

    def adopt(self, check: Callable[[], None]) -> None:
        """Say that files are listed which others wrote, and which a vacuum may be about to delete.

        Partitions that are not there are to be made by `add`, so that two who come upon the same files do not
        both list them.

        Args:
            check: raises an error if one of them is not there; called when no vacuum can come in between.
        """
        self.checks.append(check)

    def leave_records(self) -> None:
        """Have what this transaction takes out not be recorded: it is gone from disk, or another file by now.

        Files that it lists are no longer known as taken out all the same.
        """
        self.records = False

    def record_removed_files(self, files: Mapping[str, RemovedFileRecord | None]) -> None:
        """Say which files of others are known as taken out from now on, whatever else this transaction does.

        Args:
            files: by their paths below the table's location; None: the file is no longer known as taken out.
        """
        self.removed_files.update(files)

    def set_stream_batch(self, batch: StreamBatch) -> None:
        """Say which batch of a streaming query this is: nobody commits it a second time."""
        self.batch = batch

    def become(self, successor: TableSnapshot, changes: Mapping[bytes, Change]) -> None:
        """Put other columns, partition columns and content in place of the table's; nothing of `base` is left in the next version.

        The commit conflicts with whatever others commit meanwhile.

        Args:
            successor: the table as it is to be defined: by it keys are read, and partitions lie in its default places.
            changes: to a table without partitions, by their keys.
        """
        self.come_back(successor, successor.metadata)
        self.changes = dict(changes)
        self.scopes = [Scope(None)]

    def come_back(self, version: TableSnapshot, metadata: TableMetadata) -> None:
        """Read the keys of partitions that are restored by another version's partition columns, which become the table's.

        The commit conflicts with whatever others commit meanwhile.

        Args:
            version: of the same table.
            metadata: as in that version, save for its indexes.
        """
        self.set_metadata(metadata)
        self.successor = version

    def require_name(self) -> None:
        """Have the commit fail if somebody gives the table another name meanwhile: what it does is meant for this one."""
        self.keeps_name = True

    @property
    def placement(self) -> TablePlacement:
        """Return the keys and default locations of partitions that are given files."""
        return (self.successor or self.base).placement

    def set_metadata(self, metadata: TableMetadata) -> None:
        """Put metadata in place of the table's; conflicts with others who do the same.

        Raises:
            ArrangementError: rows are to be arranged by a column that is not in the files.
        """
        metadata.require_arrangeable(metadata.arrangement)
        self.metadata = metadata

    def end(self) -> None:
        """Say that this transaction is being committed: that can be tried once.

        Raises:
            UnsupportedError: it was tried before.
        """
        if self._done:
            raise UnsupportedError("This transaction was already committed or has failed; begin another.")
        self._done = True

    @property
    def arrangement(self) -> ArrangementSpec:
        """Return the table's arrangement, as this transaction has it: that of the partitions it makes."""
        return (self.metadata or self.base.metadata).arrangement

    def _key(self, values: Sequence[Value]) -> bytes:
        return self.base.placement.key_of(values)

    def _changeable(self, key: bytes) -> Append | Replace | Add | Drop | None:
        """Return what the transaction does to a partition so far, which is not to rename or to restore it."""
        match self.changes.get(key):
            case None | Append() | Replace() | Add() | Drop(moves=False) as before:
                return before
            case _:
                raise self._changed_twice()

    def _changed_twice(self) -> UnsupportedError:
        return UnsupportedError(
            f"A partition of table {self.base.label} is renamed, restored, compacted or given two locations or "
            "arrangements, and changed otherwise, in one commit; make two of it."
        )
