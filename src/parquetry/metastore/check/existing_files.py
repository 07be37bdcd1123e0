"""Look at the files of many partitions with few questions to their file systems."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from parquetry.data_files import FileRecord
from parquetry.locations import StoragePath, is_hidden, is_own, join_location, storage_path
from parquetry.metastore.deletion.file_access import FileAccess, Info
from parquetry.metastore.versions.partition import PartitionSnapshot

_FILES_AT_ONCE = 1000
"""Files after which the partitions so far are looked at: so many records are kept in memory."""


class LookedAt(NamedTuple):
    """A partition and what the file systems say of its files.

    Attributes:
        partition: the partition.
        files: its files.
        infos: for each file its path, and its size and time of change, or None if it is missing.
    """

    partition: PartitionSnapshot
    files: Sequence[FileRecord]
    infos: Sequence[tuple[StoragePath, Info | None]]


def look_at_files(partitions: Iterable[PartitionSnapshot], system: FileAccess) -> Iterator[LookedAt]:
    """Yield partitions in their order, each with what is known of its files.

    Args:
        partitions: the partitions.
        system: the file systems.

    Raises:
        WarehouseError: a file system does not answer.
    """
    some: list[tuple[PartitionSnapshot, Sequence[FileRecord]]] = []
    count = 0
    for partition in partitions:
        some.append((partition, partition.files))
        count += len(some[-1][1])
        if count >= _FILES_AT_ONCE or len(some) >= _FILES_AT_ONCE:
            yield from _look(some, system)
            some, count = [], 0
    yield from _look(some, system)


def _look(
    some: Sequence[tuple[PartitionSnapshot, Sequence[FileRecord]]], system: FileAccess
) -> Iterator[LookedAt]:
    paths = [
        system.storage_path(join_location(partition.location, file.path))
        for partition, files in some
        for file in files
    ]
    info_of = dict(system.infos(paths))
    remaining = iter(paths)
    for partition, files in some:
        own = islice(remaining, len(files))
        yield LookedAt(partition, files, [(path, info_of[path]) for path in own])


def foreign_files(
    looked_at: LookedAt, table: bytes, system: FileAccess, removed: Collection[StoragePath]
) -> list[str]:
    """Return the names of files in a partition's folder that another program has written, not this table.

    Args:
        looked_at: the partition, and its files.
        table: id of the table.
        system: the file systems.
        removed: files that a version of the table has removed on purpose.

    Raises:
        WarehouseError: the folder cannot be listed.
    """
    own = {path for path, _ in looked_at.infos}
    folder = storage_path(looked_at.partition.location)
    own.update(removed)
    others = (path for path, info in system.below(folder) if info.bytes and path not in own)
    names = (path.path.removeprefix(f"{folder.path.rstrip('/')}/") for path in others)
    return sorted(
        name for name in names if not is_own(name, table) and not any(map(is_hidden, name.split("/")))
    )
