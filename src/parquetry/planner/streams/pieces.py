"""The files that a stream reads of each version, in a fixed order. A position is a version and a number.

A stream begins with all files of one version, or after a version. Then it reads the files that each version
added (`metastore.versions.changes_between`). The order does not depend on the query.

A stream goes on only if its columns are still there.

The stream ignores columns that were added since, and finds renamed columns by their names in the files. When
the query starts again, it takes the table's new columns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Protocol

import numpy as np

from parquetry.data_files import RecordedFiles, physical_name
from parquetry.errors import StreamError, TableNotFoundError
from parquetry.metastore import (
    REWRITING_OPERATIONS,
    FileBlock,
    PartitionSnapshot,
    TableSnapshot,
    TableVersions,
    VersionChanges,
    file_blocks,
)
from parquetry.planner.lake import Lake
from parquetry.planner.protocol.questions import TableRef
from parquetry.predicate import Filter
from parquetry.prune import candidates

SKIP_CHANGES_OPTION = "skipChangeCommits"
"""The option of a read that makes it skip versions which removed rows."""
_RESTORING_OPERATION = "rollback"
"""The operation that restores old files, with rows that a stream may have read."""


class Piece(Protocol):
    """The files that a stream reads of one version."""

    @property
    def snapshot(self) -> TableSnapshot:
        """Return the version."""
        ...

    @property
    def partitions(self) -> Sequence[PartitionSnapshot]:
        """Return the partitions of the files, in order."""
        ...

    @property
    def count(self) -> int:
        """Return how many files there are."""
        ...

    def sizes(self, start: int) -> Iterator[int]:
        """Yield the bytes of each file, after the first `start` files."""
        ...

    def block(self, start: int, stop: int) -> FileBlock:
        """Return the files with these positions in the order."""
        ...


class WholeVersion:
    """All files of a version. Its partitions are loaded on first use.

    Args:
        snapshot: the version.
        read: loads its partitions.
    """

    def __init__(
        self, snapshot: TableSnapshot, read: Callable[[TableSnapshot], Sequence[PartitionSnapshot]]
    ) -> None:
        self.snapshot = snapshot
        self._read = read

    @functools.cached_property
    def partitions(self) -> Sequence[PartitionSnapshot]:
        """Return the partitions of the files, in order."""
        return self._read(self.snapshot)

    @functools.cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(entry.file_count for entry in PartitionSnapshot.entries(self.partitions))]

    @property
    def count(self) -> int:
        """Return how many files there are."""
        return self._starts[-1]

    def sizes(self, start: int) -> Iterator[int]:
        """Yield the bytes of each file, after the first `start` files."""
        for partition, first in zip(self.partitions, self._starts, strict=False):
            if first + partition.file_count > start:
                yield from (file.bytes for file in partition.each_listed(max(0, start - first)))

    def block(self, start: int, stop: int) -> FileBlock:
        """Return the files with these positions in the order."""
        few = [
            position
            for position, partition in enumerate(self.partitions)
            if self._starts[position] < stop and self._starts[position] + partition.file_count > start
        ]
        snapshot = self.snapshot
        blocks = file_blocks(snapshot.store, snapshot.id, [self.partitions[position] for position in few])
        files = FileBlock.concatenate(list(blocks), None)
        begin = self._starts[few[0]] if few else 0
        files = files.take(np.arange(max(0, start - begin), max(0, stop - begin)))
        return FileBlock(np.array(few, np.int32)[files.parts], files.files)


class AddedFiles:
    """The files that a version added.

    Args:
        changes: of the version.
    """

    def __init__(self, changes: VersionChanges) -> None:
        self.snapshot = changes.version
        self.partitions: Sequence[PartitionSnapshot] = [partition for partition, _ in changes.brought]
        self._files = [file for _, files in changes.brought for file in files]
        sizes = [len(files) for _, files in changes.brought]
        self._parts = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        self.count = len(self._files)

    def sizes(self, start: int) -> Iterator[int]:
        """Yield the bytes of each file, after the first `start` files."""
        return (file.bytes for file in self._files[start:])

    def block(self, start: int, stop: int) -> FileBlock:
        """Return the files with these positions in the order."""
        return FileBlock(self._parts[start:stop], RecordedFiles(self._files[start:stop]))


class StreamedTable:
    """A table in its newest version, for a stream.

    Args:
        lake: the catalog.
        ref: the table as it was when the query began. The stream's rows have its columns.
        id: of the table that the stream has read so far, hexadecimal.

    Raises:
        StreamError: the table was dropped or replaced, or a column of the stream was dropped.

    Attributes:
        begun: the version that the query began with.
        newest: the newest version.
        versions: that are kept.
    """

    def __init__(self, lake: Lake, ref: TableRef, id: str) -> None:
        self._lake = lake
        self.begun = lake.pinned(ref)
        self.name = lake.full_name(self.begun)
        versions = TableVersions.read(self.begun.store, bytes.fromhex(id))
        if versions is None:
            raise self._dropped_error(id)
        if id != ref.id:
            raise self._another()
        self.versions = versions
        self.newest = versions.newest
        require_same_columns(self.name, self.begun, self.newest)

    def _dropped_error(self, id: str) -> StreamError:
        try:
            now = self._lake.metastore.table(self.begun.database, self.begun.name)
        except TableNotFoundError:
            return StreamError(
                f"Table {self.name}, which the stream reads, was dropped: bring it back, or stop the query."
            )
        return (
            self._another() if now.id.hex() != id else StreamError(f"Table {self.name} was dropped just now.")
        )

    def _another(self) -> StreamError:
        return StreamError(
            f"Table {self.name} is another one than the stream has read so far: that was dropped or replaced, and one of the same name "
            "was made since. Start the query with a new checkpoint, and it begins with the table as it stands."
        )

    def version(self, number: int) -> TableSnapshot:
        """Return the table in a version.

        Raises:
            StreamError: there is no such version, or it was vacuumed.
        """
        version, oldest = self.versions.version(number), self.versions.oldest
        if version is None:
            raise StreamError(
                f"Version {number} of table {self.name}, which the stream is to go on from, "
                + (
                    f"has been vacuumed away; the oldest is {oldest}. Start the query with a new checkpoint: it begins with the table as "
                    f"it stands, or with the version that the option startingVersion names, {oldest + 1} or later."
                    if number < oldest
                    else f"is not there: the newest is {self.versions.number}. The metastore was restored from an older dump, or the checkpoint is "
                    "of another table: start the query with a new checkpoint."
                )
            )
        return version

    def pieces(
        self, first: int, until: int, *, whole: bool, skip: bool, filters: Sequence[Filter] = ()
    ) -> Iterator[tuple[int, Piece]]:
        """Yield the files to read of each version, in order.

        Args:
            first: version to begin with.
            until: the last version.
            whole: whether to read all files of the first version, not only the files that it added.
            skip: whether to skip versions that removed rows.
            filters: conditions on rows, for a first version that is read whole. Files without such rows may
                be missing.

        Raises:
            StreamError: a version removed rows, or a needed version was vacuumed.
        """
        if first > until:
            return
        if whole:
            yield from self.whole_version(first, filters)
            first += 1
        if first > until:
            return
        if first:
            self.version(first - 1)  # a version's new files are found by comparison
        try:
            for changes in self.versions.changes(first - 1, until, self._lake.touched):
                yield changes.version.version, AddedFiles(self._to_read(changes, skip))
        except TableNotFoundError as error:
            raise StreamError(f"{error.message} Start the query again.") from None

    def whole_version(self, number: int, filters: Sequence[Filter]) -> Iterator[tuple[int, WholeVersion]]:
        """Yield all files of a version, for a stream that begins with it; for `filters` see `pieces`."""
        snapshot = self._same_keys(self.version(number))
        yield number, WholeVersion(snapshot, lambda version: self._partitions(version, filters))

    def _partitions(self, snapshot: TableSnapshot, filters: Sequence[Filter]) -> Sequence[PartitionSnapshot]:
        """Return the partitions of a version that is read whole. Each of its batches asks for them twice."""
        same_columns = snapshot.metadata.partition_by == self.begun.metadata.partition_by
        return candidates(snapshot, filters if same_columns else (), self._lake.recent)

    def _to_read(self, changes: VersionChanges, skip: bool) -> VersionChanges:
        """Return the changes of a version that the stream has to read.

        Raises:
            StreamError: the version removed rows, which a stream cannot express.
        """
        version = self._same_keys(changes.version)
        nothing = VersionChanges(version, ())
        if version.operation in REWRITING_OPERATIONS:
            return nothing
        if not changes.takes_away and not (changes.brought and version.operation == _RESTORING_OPERATION):
            return changes
        if skip:
            return nothing
        raise StreamError(
            f"Version {version.version} of table {self.name} ({version.operation}) took rows away or changed them, which a stream cannot tell. "
            f"Read with the option {SKIP_CHANGES_OPTION} = true to pass over such versions, with the rows that they wrote; or start the query with a "
            "new checkpoint, and it begins with the table as it stands."
        )

    def _same_keys(self, version: TableSnapshot) -> TableSnapshot:
        if version.metadata.key_definition != self.begun.metadata.key_definition:
            raise StreamError(
                f"Table {self.name} had other partition columns in version {version.version} than the query knows: start it again with a "
                "new checkpoint."
            )
        return version


def require_same_columns(name: str, begun: TableSnapshot, now: TableSnapshot) -> None:
    """Make sure that files of a later version can be read as the columns of an earlier one.

    Args:
        name: of the table.
        begun: the version that the query began with.
        now: a version.

    Raises:
        StreamError: a column was dropped, or has another type.
    """
    if now.commit.metadata == begun.commit.metadata or now.version < begun.version:
        return
    there = {column.physical: column for column in now.metadata.columns}
    for column in begun.metadata.columns:
        found = there.get(column.physical)
        if found is None:
            raise _changed(name, column.name, "was dropped", now)
        if not _holds(found.type, column.type):
            raise _changed(name, column.name, "has another type", now)


def _changed(name: str, column: str, what: str, now: TableSnapshot) -> StreamError:
    return StreamError(
        f"Column {column} of table {name}, which the stream reads, {what} as of version {now.version}: start the query again from the same "
        "checkpoint, and it goes on with the columns as they are now."
    )


def _holds(now: Any, before: Any) -> bool:
    """Return whether a type, in Spark's JSON, has all parts of an earlier one; structs may grow."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return bool(now == before)
    if before.get("type") != now.get("type"):
        return False
    if before["type"] == "struct":
        there = {physical_name(field): field["type"] for field in now["fields"]}
        return all(
            physical_name(field) in there and _holds(there[physical_name(field)], field["type"])
            for field in before["fields"]
        )
    parts = ("elementType", "keyType", "valueType")
    return all(_holds(now.get(part), before.get(part)) for part in parts)
