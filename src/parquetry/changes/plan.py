"""Find the files that only one of two adjacent versions has, partition by partition. No data file is opened.

| version | commit               | files compared                    |
|---------|----------------------|-----------------------------------|
| 4       | append               | the new ones, all rows inserts    |
| 5       | DELETE in p=1        | a of p=1, and the file in its place |
| 6       | compact              | none: its rows are as they were   |
| 7       | DROP PARTITION p=2   | the files of p=2, all rows deletes |

Rows are read as the last version of the range has its columns. A column that was added later has its default,
or NULL, in earlier rows, as in the table itself. A column that was dropped is in no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from parquetry.data_files import FileRecord
from parquetry.definition import holds_type
from parquetry.errors import UnsupportedError
from parquetry.locations import join_location
from parquetry.metastore import (
    REWRITING_OPERATIONS,
    PartitionSnapshot,
    TableSnapshot,
    TableVersions,
    TouchedPartitions,
    VersionChanges,
)


class ChangeMode(StrEnum):
    """How versions are compared."""

    EACH = "each"
    """The changes of each version."""
    NET = "net"
    """The difference of the versions at the ends."""
    RAW = "raw"
    """All rows of the files that each version removed or added, also rows that are carried over."""


@dataclass(frozen=True, slots=True)
class PartitionChange:
    """The files of a partition that only one of two versions has.

    Attributes:
        before: the partition before, or None if no file was removed.
        removed: its files that are gone.
        now: the partition afterwards, or None if no file was added.
        added: its new files.
    """

    before: PartitionSnapshot | None
    removed: tuple[FileRecord, ...]
    now: PartitionSnapshot | None
    added: tuple[FileRecord, ...]

    @property
    def is_mixed(self) -> bool:
        """Return whether rows may be carried over from a removed file into a new one."""
        return bool(self.removed and self.added)

    @property
    def bytes(self) -> int:
        """Return the size of the files."""
        return sum(file.bytes for file in (*self.removed, *self.added))

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the absolute paths of all files, the removed ones first."""
        sides = ((self.before, self.removed), (self.now, self.added))
        return tuple(
            join_location(part.location, file.path)
            for part, files in sides
            if part is not None
            for file in files
        )


@dataclass(frozen=True, slots=True)
class ChangedVersion:
    """The files that a version changed.

    Attributes:
        number: of the version.
        timestamp: when it was committed, in microseconds since the epoch.
        partitions: with such files, in key order.
    """

    number: int
    timestamp: int
    partitions: tuple[PartitionChange, ...]


def plan_changes(
    versions: TableVersions,
    asked: TableSnapshot,
    first: int,
    mode: ChangeMode,
    touched: TouchedPartitions | None = None,
) -> Iterator[ChangedVersion]:
    """Yield the files that versions removed and added, version by version.

    Args:
        versions: of the table.
        asked: the last version wanted, whose columns the rows get.
        first: the first version wanted. If it comes after `asked`, there is nothing to yield.
        mode: whether each version is compared with the one before it, or only the ends are.
        touched: cache of written partitions.

    Raises:
        TableNotFoundError: the table was dropped, or a vacuum retired a version meanwhile.
        UnsupportedError: files of a version cannot be read with the columns of `asked`.
    """
    if first > asked.version:
        return
    if mode is ChangeMode.NET:
        yield changed_version(versions.net_changes(first - 1, asked.version, touched), asked)
        return
    for changes in versions.changes(first - 1, asked.version, touched):
        if changes.version.operation not in REWRITING_OPERATIONS:
            yield changed_version(changes, asked)


def changed_version(changes: VersionChanges, asked: TableSnapshot) -> ChangedVersion:
    """Return the files of one version's changes, partition by partition.

    Args:
        changes: of the version.
        asked: the version whose columns the rows get.

    Raises:
        UnsupportedError: files cannot be read with these columns, or are not what they were.
    """
    if changes.brought:
        require_readable(asked, changes.version)
    if changes.removed and changes.before is not None:
        require_readable(asked, changes.before)
    parts: dict[bytes, PartitionChange] = {}
    for partition, files in changes.removed:
        parts[partition.key] = PartitionChange(partition, files, None, ())
    for partition, files in changes.brought:
        old = parts.get(partition.key, PartitionChange(None, (), None, ()))
        parts[partition.key] = PartitionChange(old.before, old.removed, partition, files)
    for part in parts.values():
        _require_own_paths(part, changes.version)
    ordered = tuple(parts[key] for key in sorted(parts))
    return ChangedVersion(changes.version.version, changes.version.committed_at * 1000, ordered)


def _require_own_paths(part: PartitionChange, version: TableSnapshot) -> None:
    """Make sure that no removed file has the path of a new one: its bytes are gone."""
    if not part.is_mixed:
        return
    paths = part.paths
    replaced = set(paths[: len(part.removed)]) & set(paths[len(part.removed) :])
    if replaced:
        raise UnsupportedError(
            f"Version {version.version} of table {version.label} has other bytes in the file {min(replaced)}: another "
            "writer replaced it in place, so its rows of before are gone. Ask for the changes of other versions."
        )


def require_readable(asked: TableSnapshot, version: TableSnapshot) -> None:
    """Make sure that files of a version can be read with the columns of another.

    Raises:
        UnsupportedError: partition columns, the format or a column's type differ.
    """
    if version.commit.metadata == asked.commit.metadata:
        return
    now, then = asked.metadata, version.metadata
    remedy = f"Ask for changes up to version {version.version}, or from a later version on."
    what = f"The changes of version {version.version} of table {asked.label} cannot be read with the columns of version"
    if now.key_definition != then.key_definition:
        raise UnsupportedError(
            f"{what} {asked.version}: the table had other partition columns then. {remedy}"
        )
    if now.format != then.format:
        raise UnsupportedError(
            f"{what} {asked.version}: its files were {then.format}, and are {now.format}. {remedy}"
        )
    had = {column.physical: column for column in then.columns}
    for column in now.columns:
        other = had.get(column.physical)
        if other is not None and not holds_type(other.type, column.type, now.format):
            raise UnsupportedError(
                f"{what} {asked.version}: column {column.name} had another type, which files cannot be read from. "
                f"{remedy}"
            )
