"""Compare the files below a location with the files in the metastore, and record the differences.

`discover` finds the former, and the metastore lists the latter. The caller decides what to do about the
differences.

A sync ignores files of others that a version removed, and that have not changed since.

The metastore records removed files (`metastore.commits.removed_files`), and `sync` finds the existing ones.
If the file is deleted, rewritten or listed again, its record is obsolete and is to be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from parquetry.adoption.cell_directories import DiscoveredFile
from parquetry.adoption.discover import DiscoveredPartition
from parquetry.data_files import FileRecord, is_same
from parquetry.locations import is_absolute, join_location, join_relative, path_within
from parquetry.metastore import FileAccess, RemovedFile, TableSnapshot, files_removed, history
from parquetry.texts import quantity
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


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between a table and the files below its location, which `adoption.sync` has found.

    Attributes:
        action: ``added``, ``changed``, ``gone``, or ``ignored``: the sync does not act on it. ``broken``: an
            incomplete file, which is not taken in. ``unfit``: a file that is taken in, although a column of
            it cannot be read with the table's type.
        partition: such as ``d=1/s=a``, or None if the difference is about the table, or about a path.
        files: the number of files of the partition afterwards, or of ignored files, or None if not counted.
        rows: the rows of these files, or None if not known.
        bytes: the bytes of these files, or None if not counted.
        detail: more about the difference.
    """

    action: str
    partition: str | None = None
    files: int | None = None
    rows: int | None = None
    bytes: int | None = None
    detail: str | None = None


class RemovedFilesFilter:
    """Separates the files that a sync ignores from the files that it adopts, and reports the ignored ones.

    Args:
        snapshot: the table as it is.
        readopt: whether to adopt removed files again.
    """

    def __init__(self, snapshot: TableSnapshot, readopt: bool) -> None:
        self._snapshot = snapshot
        self._readopt = readopt
        self._records = {file.path: file for file in files_removed(snapshot)}
        self._unseen = dict(self._records)
        self._live: list[str] = []
        self._kept: dict[tuple[Value, ...], tuple[tuple[Value, ...], list[RemovedFile]]] = {}

    def meet(self, folder: DiscoveredPartition, live: Iterable[str]) -> None:
        """Note the live files of a folder: their records as removed are obsolete.

        Args:
            folder: the folder.
            live: paths of files below it.
        """
        for path in live if self._records else ():
            if record := self._unseen.pop(join_relative(folder.relative_path, path), None):
                self._live.append(record.path)

    def sift(
        self, folder: DiscoveredPartition, values: tuple[Value, ...], files: Sequence[DiscoveredFile]
    ) -> tuple[DiscoveredFile, ...]:
        """Return the files to adopt.

        Args:
            folder: the folder with the files.
            values: of the partition of the files.
            files: that the table does not list.
        """
        if not self._records:
            return tuple(files)
        adopted = []
        for file in files:
            record = self._unseen.pop(join_relative(folder.relative_path, file.path), None)
            if record is None or self._readopt or not is_same(record.record, file.bytes, file.modified):
                adopted.append(file)  # the commit that lists it deletes the record
            else:
                self._kept.setdefault(identity(values), (values, []))[1].append(record)
        return tuple(adopted)

    def stale(self) -> list[str]:
        """Return the paths of obsolete records, after all folders have been met."""
        files, location = FileAccess(), self._snapshot.metadata.location
        paths_by_entry = {files.storage_path(join_location(location, path)): path for path in self._unseen}
        obsolete_paths = [
            paths_by_entry[entry]
            for entry, info in files.infos(paths_by_entry)
            if info is None
            or not is_same(self._records[paths_by_entry[entry]].record, info.bytes, info.modified)
        ]
        return [*self._live, *obsolete_paths]

    def differences(self) -> Iterator[Difference]:
        """Yield the report of ignored files: one line for any number, as each later sync repeats it."""
        if not self._kept:
            return
        versions = {commit.ticket: commit.version for commit in history(self._snapshot)}
        files = [file for _, of_partition in self._kept.values() for file in of_partition]
        (values, _), *others = self._kept.values()
        name = self._snapshot.describe(self._snapshot.key_of(values)) if values and not others else None
        size = sum(file.record.bytes for file in files)
        yield Difference("ignored", name, len(files), None, size, self._detail(files, versions))

    def _detail(self, files: Sequence[RemovedFile], versions: dict[int, int]) -> str:
        known_versions = sorted({versions[file.ticket] for file in files if file.ticket in versions})
        if len(known_versions) > 1:
            when = f"in versions {known_versions[0]} to {known_versions[-1]}"
        elif known_versions:
            when = f"in version {known_versions[0]}"
        else:
            when = f"before version {min(versions.values())}"
        path, folders = files[0].path, {file.path.rpartition("/")[0] for file in files}
        if len(files) == 1:
            what = f"{path}:"
        elif len(folders) == 1:
            what = f"{min(folders) or '.'}: {len(files)} files"
        else:
            what = f"{quantity(len(files), 'file')} in {quantity(len(folders), 'folder')}, such as {path}:"
        return (
            f"{what} taken out {when}. CALL system.sync(table => '{self._snapshot.label}', readopt => true) "
            "takes in again what was taken out."
        )
