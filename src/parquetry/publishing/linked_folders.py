"""Folders of hard links for readers of another metastore, which could otherwise overwrite a table's files.

A Hive metastore names locations to its clients, and Hive and Spark delete and write there by themselves. An
INSERT OVERWRITE of a partition asks no metastore. So the version that is published gets folders of its own,
in `_published` beside the table's folder. They have a link to each file, and give no right to write. An
administrator may delete a link nevertheless, and the table's file stays.

    shop.db/_published/<id of the table>/<version>-<id of its commit>/day=2026-11-27/part-0.parquet

Each partition is one flat folder, even if its files are in directories of heavy values. A link keeps a
file's bytes on the disk. The next publication takes it away, and so does a vacuum that takes the version, or
a DROP (`metastore.deletion.published_links`).
"""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from parquetry.data_files import FileRecord
from parquetry.errors import UnsupportedError, WarehouseError
from parquetry.locations import base_name, join_location, partition_paths, storage_path, take_apart
from parquetry.metastore import (
    LIVE,
    PUBLISHED_FOLDER,
    SERVED,
    PartitionSnapshot,
    TableSnapshot,
    remove_links,
    require_place_beside,
)
from parquetry.progress import Progress, silent, track

_COMMIT_CHARACTERS = 16
"""Characters of a commit's id in the name of a publication."""


@dataclass(frozen=True, slots=True)
class LinkedPartition:
    """The folder of one partition.

    Attributes:
        location: of the folder.
        files: the records of its files, with their names there.
    """

    location: str
    files: tuple[FileRecord, ...]


@dataclass(frozen=True, slots=True)
class LinkedVersion:
    """The folders of a version.

    Attributes:
        location: of the folder with all of them.
        partitions: by the partitions' keys.
    """

    location: str
    partitions: dict[bytes, LinkedPartition]


def link_version(
    snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot], progress: Progress = silent
) -> LinkedVersion:
    """Make the folders of a version, or find them as they were new_folder.

    Args:
        snapshot: the version.
        partitions: its partitions.
        progress: called with the number of partitions.

    Raises:
        UnsupportedError: a file system has no hard links.
        WarehouseError: a file is missing, or the folder cannot be written.
        ForeignWarehouseError: warehouse or folder belong to another metastore.
    """
    name = f"{snapshot.version}-{snapshot.commit.id[:_COMMIT_CHARACTERS]}"
    location = join_location(_folder_of(snapshot), name)
    require_place_beside(snapshot, location)
    linked = {each.key: _link_partition(snapshot, location, each) for each in partitions}
    folder_path = _local(snapshot, location)
    if not _is_whole(snapshot, folder_path, partitions, linked):
        remove_links(folder_path)  # who may do everything has changed it
        with make_read_only(
            folder_path, f"Table {snapshot.label} cannot be published read_only"
        ) as new_folder:
            for partition in track(progress, "Linking files", partitions):
                _link(snapshot, partition, linked[partition.key], new_folder, folder_path)
    return LinkedVersion(location, linked)


def _is_whole(
    snapshot: TableSnapshot,
    folder_path: Path,
    partitions: Sequence[PartitionSnapshot],
    linked: dict[bytes, LinkedPartition],
) -> bool:
    """Return whether a folder has exactly the links that it should have."""
    if not folder_path.exists():
        return False
    try:
        for partition in partitions:
            folder = Path(storage_path(linked[partition.key].location).path)
            if set(os.listdir(folder)) != {file.path for file in linked[partition.key].files}:
                return False
            for file, named in zip(partition.files, linked[partition.key].files, strict=True):
                source = _local(snapshot, join_location(partition.location, file.path))
                if not os.path.samefile(source, folder / named.path):
                    return False
    except OSError:
        return False
    return True


def remove_other_versions(snapshot: TableSnapshot) -> None:
    """Remove the folders of earlier publications. Folders of `serve-hive`, and of what follows, stay."""
    name = f"{snapshot.version}-{snapshot.commit.id[:_COMMIT_CHARACTERS]}"
    for folder_path in list(_local(snapshot, _folder_of(snapshot)).iterdir()):
        if folder_path.name != name and not folder_path.name.endswith((SERVED, LIVE)):
            remove_links(folder_path)


def _folder_of(snapshot: TableSnapshot) -> str:
    location = snapshot.metadata.location.rstrip("/")
    return join_location(location.rpartition("/")[0], f"{PUBLISHED_FOLDER}/{snapshot.id.hex()}")


def _local(snapshot: TableSnapshot, location: str) -> Path:
    """Return the path of a location on a local disk."""
    if not take_apart(location).is_local:
        raise UnsupportedError(
            f"Table {snapshot.label} cannot be published read_only: {location} is on a file system without hard links. Give other "
            "clients the right to read the files alone, and leave read_only out."
        )
    return Path(storage_path(location).path)


def _link_partition(snapshot: TableSnapshot, location: str, partition: PartitionSnapshot) -> LinkedPartition:
    """Return a partition's folder, and its files with names that differ."""
    metadata = snapshot.metadata
    names = [column.physical for column in metadata.partition_columns]
    below = partition_paths(names, metadata.partition_types, [partition.values])[0] or "files"
    return LinkedPartition(join_location(location, below), flat_files(partition))


def flat_files(partition: PartitionSnapshot) -> tuple[FileRecord, ...]:
    """Return the records of a partition's files with names that differ, for one flat folder."""
    taken: set[str] = set()
    files = []
    for file in partition.files:
        name = _free_name(base_name(file.path), taken)
        taken.add(name)
        files.append(msgspec.structs.replace(file, path=name))
    return tuple(files)


def _free_name(name: str, taken: set[str]) -> str:
    """Return a name that no other file has. Hive finds the bucket at its beginning, also in copies.

    >>> _free_name("000003_0", {"000003_0", "000003_0_copy_1"}), _free_name("a.parquet", {"a.parquet"})
    ('000003_0_copy_2', 'a_copy_1.parquet')
    """
    if name not in taken:
        return name
    stem, dot, ending = name.partition(".")
    number = 1
    while (copy := f"{stem}_copy_{number}{dot}{ending}") in taken:
        number += 1
    return copy


@contextlib.contextmanager
def make_read_only(folder_path: Path, failure: str) -> Iterator[Path]:
    """Yield a folder that appears at its location, whole and read-only, at the end of the block.

    Args:
        folder_path: the location.
        failure: what cannot be done if this fails, for the message.

    Raises:
        WarehouseError: the folder cannot be made or filled.
    """
    new_folder = folder_path.with_name(f".{folder_path.name}.{uuid.uuid4().hex}")
    try:
        new_folder.mkdir(parents=True)
        yield new_folder
        for folder, _, _ in os.walk(new_folder):
            os.chmod(folder, os.stat(folder).st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
        with contextlib.suppress(FileExistsError):  # another publication of the same version was faster
            os.rename(new_folder, folder_path)
    except OSError as error:
        if folder_path.exists():
            return
        raise WarehouseError(
            f"{failure}: {error.strerror or error} ({error.filename or folder_path})."
        ) from None
    finally:
        remove_links(new_folder)


def _link(
    snapshot: TableSnapshot,
    partition: PartitionSnapshot,
    linked: LinkedPartition,
    new_folder: Path,
    folder_path: Path,
) -> None:
    folder = new_folder / PurePosixPath(storage_path(linked.location).path).relative_to(folder_path)
    folder.mkdir(parents=True, exist_ok=True)
    for file, named in zip(partition.files, linked.files, strict=True):
        source = _local(snapshot, join_location(partition.location, file.path))
        os.link(source, folder / named.path)


def links_of(partitions: Iterable[PartitionSnapshot], linked: LinkedVersion | None) -> list[LinkedPartition]:
    """Return the folders and files of partitions: links if there are some, or the table's own files."""
    if linked is None:
        return [LinkedPartition(each.location, each.files) for each in partitions]
    return [linked.partitions[each.key] for each in partitions]
