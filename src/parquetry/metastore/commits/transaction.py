"""The changes of a commit, collected before anything is written.

`changes` defines the kinds of changes, and `committer.commit` makes them visible.
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
from parquetry.metastore.storage.model import RemovedFileRecord, StreamBatch, TableMetadata
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.placement import TablePlacement
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.scan import ScanPlan
from parquetry.types import Value


class Transaction:
    """Changes to a table on top of one version of it, which one commit makes visible together.

    **What it is.** A list of changes to partitions, at most one for each, and perhaps new metadata. Several
    calls for one partition add up. Gathering changes writes nothing. `commit` then checks the changes against
    `base`, compares them with what others have committed since, and publishes all of them in one step.

    **Example.** Version 1 has the partitions d=1 with files a and b, and d=2 with file c. We append file m to
    d=1 and drop d=2. Before we commit, another writer appends file z to d=1.

    >>> from parquetry.metastore import FileRecord, TableColumn, TableMetadata, Transaction, open_metastore
    >>> from parquetry.metastore.commits.committer import commit
    >>> a, b, c, m, z = (FileRecord(name, bytes=100, rows=10) for name in "abcmz")
    >>> metadata = TableMetadata((TableColumn("d", "int"), TableColumn("x", "int")), ("d",), "parquet", "/lake/t")
    >>> fill = Transaction(open_metastore("/lake", "memory").create_table("default", "t", metadata), "fill")
    >>> fill.append((1,), [a, b])
    >>> fill.append((2,), [c])
    >>> version_1 = commit(fill)

    >>> ours, theirs = Transaction(version_1, "change"), Transaction(version_1, "append")
    >>> ours.append((1,), [m])
    >>> ours.drop((2,))
    >>> theirs.append((1,), [z])
    >>> commit(theirs).version, commit(ours).version
    (2, 3)
    >>> [(each.values, [file.path for file in each.files]) for each in version_1.refresh().partitions()]
    [((1,), ['a', 'b', 'z', 'm'])]

    Our append was merged with theirs. Other commits of the other writer would have had these outcomes:

    | the other writer  | our commit                                                                |
    |-------------------|---------------------------------------------------------------------------|
    | replaces d=1 by z | succeeds: d=1 has z and m, as an append does not depend on other files    |
    | drops d=1         | succeeds: d=1 is made anew with m                                         |
    | appends z to d=9  | succeeds: d=1 has a, b and m, and d=9 has z                               |
    | appends z to d=2  | raises CommitConflictError: we decided to drop d=2 before it had z        |

    **What it is not.**

    - It holds no lock, and reads nothing for its caller. If the changes depend on partitions that the caller
      has read, `rely_on` names them; then the commit fails if they have changed.
    - It covers one table. Two tables need two commits.
    - It neither writes nor deletes data files. The caller writes them before the commit. If the commit fails,
      the caller may delete them, but only if `may_be_visible` is False.
    - It cannot be committed twice, even after a failure: begin another one on the newest version.

    **Why not otherwise.** Locks on partitions would outlive a writer that dies, and HBase offers nothing to
    take many of them at once. Conflicts of whole versions instead of partitions would let one of two writers
    to different partitions fail.

    **Reference.** Kung and Robinson, *On Optimistic Methods for Concurrency Control*, ACM TODS 1981. The
    protocol is in `commits.committer`, and its rules in `commits.conflicts`.

    Args:
        base: the version.
        operation: name of the change in the history, such as ``append``.

    Attributes:
        may_be_visible: whether a version may show the changes, because the commit took place or may have.
            Only if it is False may the files of a failed transaction be deleted.
        records: whether the commit records the foreign files that it removes; see `removed_files`.
        began: the next ticket of the version that the work for this transaction began with.
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
        self.kept: list[Callable[[bool], None]] = []
        self.began = base.commit.next_ticket
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
        """Add files to a partition, or make it.

        Files without an arrangement never conflict with others' changes.

        Args:
            values: internal values of the partition columns.
            files: the files. Their paths are relative to the partition's location in `base`, or else to its
                default location.
            location: another base of the paths, and the location of a new partition.
            arrangement: the arrangement that the files were written for, if they name cells or buckets. The
                partition must have the same. None is the partition's arrangement in `base`, or else the
                table's.

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
        """Add files to a partition, and their heavy values to its map; or make the partition.

        It conflicts with others' changes only if they arrange the partition by other columns.

        Args:
            values: internal values of the partition columns.
            files: as for `append`.
            arrangement: the arrangement that the files were written for. It is the partition's own, with
                perhaps more values in its map.

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
        """Replace the files of a partition, or make it.

        Args:
            values: internal values of the partition columns.
            files: as for `append`.
            location: the partition's new location. None keeps the location in `base`, or else the default.
            arrangement: the partition's new arrangement. None keeps its own, or the table's for a new
                partition.

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
        """Make a partition. `commit` fails if it exists.

        Args:
            values: internal values of the partition columns.
            location: location of the partition, or None for the default.
            files: as for `append`.
            arrangement: arrangement of the partition, or None for the table's.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
            PartitionExistsError: this transaction already gives the partition files.
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
        """Drop a partition. `commit` fails if it does not exist. Files are left alone.

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
                    f"Partition {self.base.placement.describe(key)} of table {self.base.label} is renamed and "
                    "changed in another way in one commit; make two commits."
                )
        self.changes[old] = Drop(moves=True)
        self.changes[new] = Move(old)

    def restore(self, version: TableSnapshot, partition: PartitionSnapshot) -> None:
        """Restore a partition of an earlier version, instead of any other change of this transaction to it.

        Its files are listed again. The commit fails if a vacuum retires the version meanwhile.

        Args:
            version: a version of the same table.
            partition: the partition in that version.
        """
        oldest = version.version if self.restored_from is None else self.restored_from
        self.restored_from = min(oldest, version.version)
        self.changes[partition.key] = Restore(partition.entry)

    def keep_location(self, partition: PartitionSnapshot) -> None:
        """Keep a partition at its location in `base`, even if the table's location changes.

        Args:
            partition: a partition of `base`.

        Raises:
            UnsupportedError: this transaction changes the partition in another way.
        """
        if partition.key in self.changes:
            raise self._changed_twice()
        if not partition.entry.location:
            self.changes[partition.key] = Restore(
                msgspec.structs.replace(partition.entry, location=partition.location)
            )

    def recut(self, values: Sequence[Value]) -> None:
        """Rewrite a partition's list of files in its newest form: full chunks, in the table's order.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
            UnsupportedError: this transaction changes the partition in another way.
        """
        key = self._key(values)
        if key in self.changes:
            raise self._changed_twice()
        self.changes[key] = Recut()

    def replace_where(self, plan: ScanPlan | None) -> None:
        """Drop all partitions of `base` that a plan selects, unless this transaction gives them files.

        An `append` to such a partition replaces its files. The commit conflicts with every partition that
        others add, change or drop in the scope.

        Args:
            plan: the scope, or None for the whole table.

        Raises:
            UnsupportedError: the plan may select partitions that do not satisfy its filter, or uses an index,
                which a later version may not have.
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
        """Name the partitions that were read for this transaction.

        The commit conflicts if others change them.

        Args:
            version: the version that was read.
            plan: a plan by the partitions' own keys, which may select more than was read; None for the whole
                table. A partition that others add or drop in it is a conflict, too.
            harmless: operations that cannot change what was read. If all later commits are such operations,
                the partitions are not compared.
        """
        self.reads.append(ReadScope(version, plan, harmless))

    def adopt(self, check: Callable[[], None]) -> None:
        """Declare that this transaction lists files of other writers, which a vacuum may be about to delete.

        New partitions must be made by `add`, so that two writers who find the same files do not both list
        them.

        Args:
            check: raises an error if one of the files is missing. It is called when no vacuum can come in
                between.
        """
        self.checks.append(check)

    def keep(self, check: Callable[[bool], None]) -> None:
        """Declare that this transaction lists new files, which a vacuum may delete before the commit.

        Args:
            check: raises an error if one of the files is missing. It is called if a vacuum has deleted files
                that no version lists since `base` was read. The argument says whether one is deleting files
                now: then the check also raises an error if one of the files is old.
        """
        self.kept.append(check)

    def leave_records(self) -> None:
        """Write no records of the files that this transaction removes: they are deleted or other files now.

        The records of files that it lists are still withdrawn.
        """
        self.records = False

    def record_removed_files(self, files: Mapping[str, RemovedFileRecord | None]) -> None:
        """Set records of removed foreign files, besides the records that follow from the changes.

        Args:
            files: the records by paths below the table's location; None withdraws a record.
        """
        self.removed_files.update(files)

    def set_stream_batch(self, batch: StreamBatch) -> None:
        """Name the batch of a streaming query that this transaction writes.

        A batch is committed only once.
        """
        self.batch = batch

    def become(self, successor: TableSnapshot, changes: Mapping[bytes, Change]) -> None:
        """Replace the table's columns, partition columns and content.

        The next version keeps nothing of `base`.

        The commit conflicts with any other commit.

        Args:
            successor: the table with its new definition, which decodes the keys and sets default locations.
            changes: changes to a table without partitions, by the keys of the partitions.
        """
        self.come_back(successor, successor.metadata)
        self.changes = dict(changes)
        self.scopes = [Scope(None)]

    def come_back(self, version: TableSnapshot, metadata: TableMetadata) -> None:
        """Give the table the partition columns of an earlier version, to decode keys of restored partitions.

        The commit conflicts with any other commit.

        Args:
            version: the earlier version of the same table.
            metadata: the metadata of that version, except for its indexes.
        """
        self.set_metadata(metadata)
        self.successor = version

    def require_name(self) -> None:
        """Let the commit fail if another process renames the table: the changes are meant for this name."""
        self.keeps_name = True

    @property
    def placement(self) -> TablePlacement:
        """Return the keys and default locations of partitions that get files."""
        return (self.successor or self.base).placement

    def set_metadata(self, metadata: TableMetadata) -> None:
        """Replace the table's metadata. The commit conflicts with any other commit that does the same.

        Raises:
            ArrangementError: the arrangement names a column that is not in the files.
        """
        metadata.require_arrangeable(metadata.arrangement)
        self.metadata = metadata

    def end(self) -> None:
        """Mark this transaction as committed or tried, which is possible only once.

        Raises:
            UnsupportedError: it was marked before.
        """
        if self._done:
            raise UnsupportedError("This transaction was already committed or has failed; begin another.")
        self._done = True

    @property
    def arrangement(self) -> ArrangementSpec:
        """Return the table's arrangement after this transaction, which new partitions get."""
        return (self.metadata or self.base.metadata).arrangement

    def _key(self, values: Sequence[Value]) -> bytes:
        return self.base.placement.key_of(values)

    def _changeable(self, key: bytes) -> Append | Replace | Add | Drop | None:
        """Return the transaction's change to a partition so far, which must not be a rename or a restore."""
        match self.changes.get(key):
            case None | Append() | Replace() | Add() | Drop(moves=False) as before:
                return before
            case _:
                raise self._changed_twice()

    def _changed_twice(self) -> UnsupportedError:
        return UnsupportedError(
            f"A partition of table {self.base.label} is renamed, restored, compacted or given two locations or "
            "arrangements, and changed in another way, in one commit; make two commits."
        )
