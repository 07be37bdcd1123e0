"""The changes of a transaction: a `Change` is to one partition, a `Scope` to a part of the table.

`Requirements` are what the changes rely on. `attempt` applies a change to a partition, and `conflicts`
decides which changes conflict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from parquetry.data_files import FileRecord
from parquetry.layout import ArrangementSpec
from parquetry.metastore.storage.model import PartitionEntry
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.scan import ScanPlan


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change that gives files to a partition.

    Attributes:
        files: files to add, or to replace the present files.
        location: location of `files`. None is the partition's location in `base`, or else its default
            location.
        arrangement: the arrangement that the files were written for. Unless files are only added, the
            partition has it from now on. None is the partition's arrangement in `base`, or else the table's.
        only_new: whether the partition has none of `files`, so that counts need no comparison.
    """

    files: tuple[FileRecord, ...] = ()
    location: str | None = None
    arrangement: ArrangementSpec | None = None
    only_new: bool = False


class Append(FileChange):
    """Add files to a partition, on top of what other commits do to it, or make it with these files."""


class Grow(Append):
    """Add files to a partition whose map of heavy values may grow, by these files and by others' commits.

    `layout.grown_maps` decides how the map grows and which cells the files get.
    """


class Replace(FileChange):
    """Replace the files of a partition, or make it with these files.

    Like all changes but `Append` and `Recut`, it needs the partition to be as it was in `base`.
    """


class Add(FileChange):
    """Make a partition, which must not exist, and which no other commit has made and dropped since `base`."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Drop a partition, which must exist.

    Attributes:
        moves: whether a `Move` of the same commit gives its content to another partition.
    """

    moves: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """Make a partition, which must not exist, with the content of another one.

    Attributes:
        source: key of the other partition.
    """

    source: bytes


@dataclass(frozen=True, slots=True)
class Restore:
    """Give a partition the entry of an earlier version, or its present entry with its location written out.

    Attributes:
        entry: the entry, which is written unchanged.
    """

    entry: PartitionEntry


@dataclass(frozen=True, slots=True)
class Recut:
    """Rewrite a partition's list of files in its newest form, with the files that the newest version has.

    It conflicts only with a commit that drops the partition.
    """


Change = Append | Replace | Add | Drop | Move | Restore | Recut
"""A change to one partition."""


@dataclass(slots=True)
class Scope:
    """A part of the table that is replaced as a whole.

    Attributes:
        plan: selects the partitions, or None for the whole table.
    """

    plan: ScanPlan | None


@dataclass(frozen=True, slots=True)
class ReadScope:
    """Partitions that were read for a transaction, and must not have changed since.

    Attributes:
        version: the version that was read.
        plan: selects the partitions, or None for all.
        harmless: operations that cannot change what was read. If all later commits are such operations, the
            partitions are not compared.
    """

    version: TableSnapshot
    plan: ScanPlan | None
    harmless: frozenset[str]


@dataclass(slots=True)
class Requirements:
    """Conditions that a transaction relies on. Its commit fails if one of them is no longer true.

    Attributes:
        began: the next ticket of the version that the work for the transaction began with.
        reads: the partitions that were read for it.
        checks: checks of the files of other writers that it lists.
        new_file_checks: checks of its new files.
        keeps_name: whether the commit fails if another process renames the table.
        reads_elsewhere: the partitions of other tables that were read for it. They count in a commit of
            several tables.
    """

    began: int
    reads: list[ReadScope] = field(default_factory=list)
    checks: list[Callable[[], None]] = field(default_factory=list)
    new_file_checks: list[Callable[[bool], None]] = field(default_factory=list)
    keeps_name: bool = False
    reads_elsewhere: list[ReadScope] = field(default_factory=list)

    def rely_on(
        self, version: TableSnapshot, plan: ScanPlan | None, harmless: frozenset[str] = frozenset()
    ) -> None:
        """Name the partitions that were read for the transaction.

        The commit conflicts if others change them.

        Args:
            version: the version that was read.
            plan: a plan by the partitions' own keys, which may select more than was read; None for the whole
                table. A partition that others add or drop in it is a conflict, too.
            harmless: operations that cannot change what was read. If all later commits are such operations,
                the partitions are not compared.
        """
        self.reads.append(ReadScope(version, plan, harmless))

    def rely_on_other(self, version: TableSnapshot, plan: ScanPlan | None, harmless: frozenset[str]) -> None:
        """Name partitions of another table that were read for the transaction; see `rely_on`."""
        self.reads_elsewhere.append(ReadScope(version, plan, harmless))

    def adopt(self, check: Callable[[], None]) -> None:
        """Declare that the transaction lists files of other writers, which a vacuum may be about to delete.

        New partitions must be made by `add`, so that two writers who find the same files do not both list
        them.

        Args:
            check: raises an error if one of the files is missing. It is called when no vacuum can come in
                between.
        """
        self.checks.append(check)

    def keep(self, check: Callable[[bool], None]) -> None:
        """Declare that the transaction lists new files, which a vacuum may delete before the commit.

        Args:
            check: raises an error if one of the files is missing. It is called if a vacuum has deleted files
                that no version lists since the work began. The argument says whether one is deleting files
                now: then the check also raises an error if one of the files is old.
        """
        self.new_file_checks.append(check)

    def add(self, other: Requirements) -> None:
        """Add what another transaction of the same work has read and lists."""
        self.reads += other.reads
        self.reads_elsewhere += other.reads_elsewhere
        self.checks += other.checks
        self.new_file_checks += other.new_file_checks
