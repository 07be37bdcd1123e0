"""Compare the files below a location with the files in the metastore.

`discover` finds the former, and the metastore lists the latter. The caller decides what to do about the
differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from parquetry.adoption.cell_directories import DiscoveredFile
from parquetry.adoption.discover import DiscoveredPartition
from parquetry.data_files import FileRecord, is_same
from parquetry.locations import is_absolute, join_location, path_within
from parquetry.types import Value, identity


class RecordedPartition(Protocol):
    """A partition as recorded: its values, its location, and its files."""

    @property
    def values(self) -> tuple[Value, ...]:
        """Return the values of the partition columns."""

    @property
    def location(self) -> str:
        """Return the location of the partition."""

    @property
    def files(self) -> Sequence[FileRecord]:
        """Return the files."""


@dataclass(frozen=True, slots=True)
class ChangedPartition:
    """A partition with other files than recorded.

    Attributes:
        partition: as it is now.
        added: files that are not recorded, or are recorded with another size or time.
        deleted: recorded paths below the partition that do not exist, or that hold other data now. A
            rewritten file is in both.
    """

    partition: DiscoveredPartition
    added: tuple[DiscoveredFile, ...]
    deleted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """Partitions that are not recorded, have other files than recorded, or do not exist any more."""

    added: tuple[DiscoveredPartition, ...]
    changed: tuple[ChangedPartition, ...]
    deleted: tuple[tuple[Value, ...], ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.deleted)


def compare(
    discovered: Iterable[DiscoveredPartition],
    recorded: Iterable[RecordedPartition],
    location: str,
) -> Changes:
    """Compare the partitions from `discover` with the recorded ones, by each file's path, size and time.

    Partitions that are recorded outside `location` count as unchanged.

    Args:
        discovered: the partitions below the location.
        recorded: the recorded partitions.
        location: the table's location, in the spelling of the partitions' locations.
    """
    base = location.rstrip("/")
    by_values = {identity(partition.values): partition for partition in recorded}
    added, changed, seen = [], [], set()
    for partition in discovered:
        key = identity(partition.values)
        seen.add(key)
        old = by_values.get(key)
        if old is None:
            added.append(partition)
        elif old.location.rstrip("/") == join_location(base, partition.relative_path):
            change = _change(partition, old)
            if change.added or change.deleted:
                changed.append(change)
    deleted = [
        partition.values
        for key, partition in by_values.items()
        if key not in seen
        and f"{partition.location}/".startswith(f"{base}/")
        and len(files_below(partition)) == len(partition.files)
    ]
    return Changes(tuple(added), tuple(changed), tuple(deleted))


def _change(discovered: DiscoveredPartition, recorded: RecordedPartition) -> ChangedPartition:
    old = files_below(recorded)
    same = {
        file.path
        for file in discovered.files
        if file.path in old and is_same(old[file.path], file.bytes, file.modified)
    }
    return ChangedPartition(
        discovered,
        tuple(file for file in discovered.files if file.path not in same),
        tuple(path for path in old if path not in same),
    )


def files_below(partition: RecordedPartition) -> dict[str, FileRecord]:
    """Return the files below their partition's location, by their paths relative to it.

    The whole path identifies a file: `x=10/000000_0` and `x=20/000000_0` have the same name. Files elsewhere
    are left out, such as those written into a partition with a location of its own.
    """
    below = {path_within(partition.location, file.path): file for file in partition.files}
    return {path: file for path, file in below.items() if not is_absolute(path)}
