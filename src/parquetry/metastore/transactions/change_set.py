"""The changes to one table, gathered before anything is written.

`changes` defines the kinds of changes. `transaction` adds what a commit needs besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import msgspec

from parquetry.data_files import FileRecord
from parquetry.errors import PartitionExistsError, UnsupportedError
from parquetry.layout import ArrangementSpec
from parquetry.metastore.storage.model import TableMetadata
from parquetry.metastore.transactions import changes
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.scan import ScanPlan
from parquetry.types import Value


class ChangeSet:
    """Changes to the partitions and the metadata of a table, at most one for each partition.

    Several calls for one partition add up: files appended to a partition that was dropped replace its files.

    Args:
        base: the version to change.

    Attributes:
        base: the version to change.
        changes: the changes by the keys of the partitions.
        scopes: parts of the table that are replaced as a whole.
        metadata: the new metadata, or None if they stay the same.
        restored_from: the oldest version whose partitions are restored, or None.
    """

    def __init__(self, base: TableSnapshot) -> None:
        self.base = base
        self.changes: dict[bytes, changes.Change] = {}
        self.scopes: list[changes.Scope] = []
        self.metadata: TableMetadata | None = None
        self.restored_from: int | None = None

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
                self.changes[key] = changes.Append(tuple(files), location, arrangement)
                return
            case changes.Drop():
                before = changes.Replace((), None, arrangement or self.arrangement)
        if location not in (None, before.location) or arrangement not in (None, before.arrangement):
            raise self._two_changes_error()
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
            raise self._two_changes_error()
        self.changes[key] = changes.Grow(tuple(files), None, arrangement)

    def replace(
        self,
        values: Sequence[Value],
        files: Iterable[FileRecord],
        location: str | None = None,
        arrangement: ArrangementSpec | None = None,
        *,
        only_new: bool = False,
    ) -> None:
        """Replace the files of a partition, or make it.

        Args:
            values: internal values of the partition columns.
            files: as for `append`.
            location: the partition's new location. None keeps the location in `base`, or else the default.
            arrangement: the partition's new arrangement. None keeps its own, or the table's for a new
                partition.
            only_new: whether the partition has none of these files now. The history then counts them without
                a look at the list of the present files.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
        """
        key = self._key(values)
        before = self._changeable(key)
        if isinstance(before, changes.Drop):  # the partition is made anew
            arrangement = arrangement or self.arrangement
        kind = changes.Add if isinstance(before, changes.Add) else changes.Replace
        self.changes[key] = kind(tuple(files), location, arrangement, only_new)

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
        if before is not None and not isinstance(before, changes.Drop):
            raise PartitionExistsError(
                f"Partition {self.base.placement.describe(key)} of table {self.base.label} is given twice in one commit."
            )
        if before is None:
            self.changes[key] = changes.Add(tuple(files), location, arrangement)
        else:  # the partition is made anew
            self.changes[key] = changes.Replace(tuple(files), location, arrangement or self.arrangement)

    def drop(self, values: Sequence[Value]) -> None:
        """Drop a partition. `commit` fails if it does not exist. Files are left alone.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
        """
        key = self._key(values)
        if isinstance(self._changeable(key), changes.Add):
            del self.changes[key]
        else:
            self.changes[key] = changes.Drop()

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
        self.changes[old] = changes.Drop(moves=True)
        self.changes[new] = changes.Move(old)

    def restore(self, version: TableSnapshot, partition: PartitionSnapshot) -> None:
        """Restore a partition of an earlier version, instead of any other change of this transaction to it.

        Its files are listed again. The commit fails if a vacuum retires the version meanwhile.

        Args:
            version: a version of the same table.
            partition: the partition in that version.
        """
        oldest = version.version if self.restored_from is None else self.restored_from
        self.restored_from = min(oldest, version.version)
        self.changes[partition.key] = changes.Restore(partition.entry)

    def keep_location(self, partition: PartitionSnapshot) -> None:
        """Keep a partition at its location in `base`, even if the table's location changes.

        Args:
            partition: a partition of `base`.

        Raises:
            UnsupportedError: this transaction changes the partition in another way.
        """
        if partition.key in self.changes:
            raise self._two_changes_error()
        if not partition.entry.location:
            self.changes[partition.key] = changes.Restore(
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
            raise self._two_changes_error()
        self.changes[key] = changes.Recut()

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
        self.scopes.append(changes.Scope(plan))

    def set_metadata(self, metadata: TableMetadata) -> None:
        """Replace the table's metadata. The commit conflicts with any other commit that does the same.

        Raises:
            ArrangementError: the arrangement names a column that is not in the files.
        """
        self._replace_metadata(metadata.with_ids_of(self.base.metadata))

    def _replace_metadata(self, metadata: TableMetadata) -> None:
        """Replace the table's metadata, with its own field ids."""
        metadata.require_arrangeable(metadata.arrangement)
        self.metadata = metadata

    @property
    def arrangement(self) -> ArrangementSpec:
        """Return the table's arrangement after this transaction, which new partitions get."""
        return (self.metadata or self.base.metadata).arrangement

    def _key(self, values: Sequence[Value]) -> bytes:
        return self.base.placement.key_of(values)

    def _changeable(self, key: bytes) -> changes.Append | changes.Replace | changes.Add | changes.Drop | None:
        """Return the transaction's change to a partition so far, which must not be a rename or a restore."""
        match self.changes.get(key):
            case (
                None
                | changes.Append()
                | changes.Replace()
                | changes.Add()
                | changes.Drop(moves=False) as before
            ):
                return before
            case _:
                raise self._two_changes_error()

    def _two_changes_error(self) -> UnsupportedError:
        return UnsupportedError(
            f"A partition of table {self.base.label} is renamed, restored, compacted or given two locations or "
            "arrangements, and changed in another way, in one commit; make two commits."
        )
