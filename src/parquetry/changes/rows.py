"""Read the changed files by PyArrow, and yield their differences as batches with the columns of changes.

Of a version, the files of one partition are compared at a time: rows of other partitions differ in any case.
With a key they are compared together, since an update may move a row into another partition. Large files are
divided by a hash first (`spill`). Files of a partition that only lost files, or only got some, need no
comparison, and their rows stream through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import pyarrow as pa

from parquetry.changes.columns import change_schema
from parquetry.changes.difference import TypedRows, alone, difference
from parquetry.changes.plan import ChangedVersion, PartitionChange
from parquetry.changes.spill import divided, hashed_positions
from parquetry.data_files import FileRecord
from parquetry.locations import join_location
from parquetry.metastore import PartitionSnapshot
from parquetry.rows import FileRows, ReadRequest

MAX_COMPARED_BYTES = 64_000_000
"""Bytes of files whose rows are compared in memory at once; decoded, they take several times as much."""
Reader: TypeAlias = Callable[[ReadRequest, Sequence[FileRows]], Iterator[pa.RecordBatch]]
"""Reads files, in order."""


@dataclass(frozen=True)
class ChangeRequest:
    """The rows to read of changed files.

    Attributes:
        read: the columns and the condition. All columns of the table are needed to compare rows.
        keys: names of the columns of a row's key, or none.
        reader: reads files.
    """

    read: ReadRequest
    keys: tuple[str, ...]
    reader: Reader

    @cached_property
    def schema(self) -> pa.Schema:
        """Return the schema of the batches."""
        return change_schema(self.read.columns)

    @cached_property
    def key_positions(self) -> list[int]:
        """Return the positions of the key's columns."""
        return [self.read.schema.names.index(name) for name in self.keys]


def change_batches(request: ChangeRequest, versions: Iterable[ChangedVersion]) -> Iterator[pa.RecordBatch]:
    """Yield the changes of versions, in their order.

    Raises:
        UnsupportedError, FileMissingError, FileCorruptError: as `rows.read_file`.
    """
    for version in versions:
        for group in _groups(version, by_key=bool(request.keys)):
            for typed in _compared(request, group):
                yield from _finished(request, typed, version)


def _groups(version: ChangedVersion, *, by_key: bool) -> Iterator[Sequence[PartitionChange]]:
    """Yield the partitions that are compared together; the ones with one kind of files together, too."""
    parts = version.partitions
    if by_key and any(part.removed for part in parts) and any(part.added for part in parts):
        yield parts
        return
    for chosen in (
        [part for part in parts if part.removed and not part.added],
        [part for part in parts if part.added and not part.removed],
    ):
        if chosen:
            yield chosen
    for part in parts:
        if part.is_mixed:
            yield [part]


def _compared(request: ChangeRequest, group: Sequence[PartitionChange]) -> Iterator[TypedRows]:
    removed = [file for part in group for file in _files(part.before, part.removed)]
    added = [file for part in group for file in _files(part.now, part.added)]
    schema = request.read.schema
    if not removed or not added:
        for batch in request.reader(request.read, removed or added):
            yield alone(pa.Table.from_batches([batch], schema), is_added=bool(added))
        return
    sides = [request.reader(request.read, files) for files in (removed, added)]
    parts = -(-sum(part.bytes for part in group) // MAX_COMPARED_BYTES)
    positions = hashed_positions(schema, request.key_positions or range(len(schema)))
    if parts <= 1 or not positions:
        tables = [pa.Table.from_batches(list(side), schema) for side in sides]
        yield difference(tables[0], tables[1], request.key_positions)
        return
    for before, now in divided(sides, schema, positions, parts):
        yield difference(before, now, request.key_positions)


def _files(partition: PartitionSnapshot | None, files: Sequence[FileRecord]) -> Iterator[FileRows]:
    if partition is not None:
        location = partition.location
        for file in files:
            yield FileRows(join_location(location, file.path), file, partition.values)


def _finished(request: ChangeRequest, typed: TypedRows, version: ChangedVersion) -> Iterator[pa.RecordBatch]:
    """Yield rows as batches with the columns of changes."""
    count = typed.rows.num_rows
    if not count:
        return
    schema = request.schema
    of_version = [
        pa.repeat(pa.scalar(version.number, pa.int64()), count),
        pa.repeat(pa.scalar(version.timestamp, pa.int64()), count).cast(schema.field(-1).type),
    ]
    columns = [*typed.rows.columns, typed.types, *of_version]
    yield from pa.Table.from_arrays(columns, schema=schema).to_batches()
