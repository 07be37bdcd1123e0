"""What a transaction may do: to a partition, one of the kinds of `Change`; to a part of the table, a `Scope`.

What becomes of a partition by each is `apply`'s, which of them get in each other's way `conflicts`'.
"""

from __future__ import annotations

from dataclasses import dataclass

from parquetry.data_files import FileRecord
from parquetry.layout import ArrangementSpec
from parquetry.metastore.storage import PartitionEntry
from parquetry.metastore.versions import TableSnapshot
from parquetry.scan import ScanPlan


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a transaction gives a partition.

    Attributes:
        files: to add, or to put in place of the present ones.
        location: where `files` lie; None: where the partition lies in `base`, else its default location.
        arrangement: that the files were written for, and that the partition has from now on unless files are only
            added; None: that of the partition in `base`, or else the table's.
    """

    files: tuple[FileRecord, ...] = ()
    location: str | None = None
    arrangement: ArrangementSpec | None = None


class Append(FileChange):
    """Files are added to a partition, which is made if it is not there, on top of whatever others do meanwhile."""


class Grow(Append):
    """Files are added to a partition whose map of heavy values may grow: by what they were written for, and by what others add.

    `layout.grown_maps` says what becomes of the map and of the files.
    """


class Replace(FileChange):
    """Files take the place of a partition's, which is made if it is not there.

    Like all changes but `Append`, it needs the partition to be as it was in `base`.
    """


class Add(FileChange):
    """A partition is made that must not be there, nor have been made and dropped by others since `base`."""


@dataclass(frozen=True, slots=True)
class Drop:
    """A partition that has to be there is taken out.

    Attributes:
        moves: its content goes to another partition in the same commit, by a `Move`.
    """

    moves: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """The content of another partition becomes this one's, which must not be there.

    Attributes:
        source: key of the other partition.
    """

    source: bytes


@dataclass(frozen=True, slots=True)
class Restore:
    """A partition becomes what it was in an earlier version, or lies where it does by its own record from now on.

    Attributes:
        entry: to write as it is.
    """

    entry: PartitionEntry


@dataclass(frozen=True, slots=True)
class Recut:
    """A partition's list of files is written anew, in its newest form; which files those are is whatever others say meanwhile.

    It conflicts only with those who take the partition out.
    """


Change = Append | Replace | Add | Drop | Move | Restore | Recut
"""What happens to one partition."""


@dataclass(slots=True)
class Scope:
    """A part of the table that is replaced as a whole; None is all of it."""

    plan: ScanPlan | None


@dataclass(frozen=True, slots=True)
class ReadScope:
    """Partitions that were read for what a transaction does, and must be as they were then.

    Attributes:
        version: of the table, that was read.
        plan: which partitions; None: all.
        harmless: operations of others that leave true what was read.
    """

    version: TableSnapshot
    plan: ScanPlan | None
    harmless: frozenset[str]
