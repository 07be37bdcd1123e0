"""Folders that readers list: each has exactly the files of one partition, and gives no right to write.

A reader that Hive's metastore leads to a folder reads all files in it, and a writer deletes them without a
word to us. So no location of a table is ever named. A partition gets a flat folder of hard links, when a
client first asks for it:

    shop.db/_published/<id of the table>/<version>-<id of its commit>-hive/day=2026-11-27/part-0.parquet

The folder is of one state of the partition. Later versions name it again if they did not change the
partition. So a commit costs links for the partitions that it changed. Vacuum and DROP remove these folders
with their versions, as they do with publications (`publishing.linked_folders`). `Mirror.sweep` removes
folders in a place of their own.

An administrator can change a folder nevertheless. The table's files stay,
and the folder is made anew before it is named again: its times tell that it was changed.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from parquetry.data_files import FileRecord
from parquetry.errors import TableNotFoundError, UnsupportedError
from parquetry.locations import join_location, partition_paths, storage_path, take_apart
from parquetry.metastore import (
    PUBLISHED_FOLDER,
    SERVED,
    Metastore,
    PartitionSnapshot,
    TableSnapshot,
    oldest_version,
    remove_links,
    require_place_beside,
)
from parquetry.publishing import flat_files, make_read_only, require_folder

_MAX_KNOWN_FOLDERS = 200_000
"""Folders whose times are remembered. Others are compared with their partitions, file by file."""
LISTED_SECONDS = 600.0
"""Seconds until a table's own folder is listed again."""
_COMMIT_CHARACTERS = 16
"""Characters of a commit's id in the name of a version's folder."""
_Times: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder that has been made or compared, and its times then."""

    path: str
    times: _Times


class Mirror:
    """The folders of all tables. Several threads may ask at once.

    Args:
        root: the folder for all of them, on the same disk as the tables, or None: beside each table's folder.
        ending: the end of the names of versions' folders.
    """

    def __init__(self, root: Path | None = None, ending: str = SERVED) -> None:
        self._root, self._ending = root, ending
        self._known: dict[tuple[bytes, bytes, int], _Folder] = {}
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def folders(self, snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot]) -> list[str]:
        """Return the locations of partitions' folders, which are made if necessary.

        Raises:
            UnsupportedError: the table's files are on a file system without hard links.
            WarehouseError: a file is missing, or a folder cannot be written.
        """
        return [self._folder(snapshot, each) for each in partitions]

    def nowhere(self, snapshot: TableSnapshot) -> str:
        """Return a location without a folder, for a partitioned table itself.

        All files are in partitions. A reader that lists the table's own folder gets an error.
        """
        return f"file:{self._version_folder(snapshot) / 'read-the-partitions'}"

    def empty(self, snapshot: TableSnapshot) -> str:
        """Return the location of an empty folder, for a table without partition columns and without files."""
        folder = self._version_folder(snapshot) / "files"
        with self._making:
            if not folder.is_dir() or os.listdir(folder):
                self._make(snapshot, folder, None, ())
        return f"file:{folder}"

    def _folder(self, snapshot: TableSnapshot, partition: PartitionSnapshot) -> str:
        key = snapshot.id, partition.key, partition.ticket
        known = self._known.get(key)
        if known is not None and _times(known.path) == known.times:
            return f"file:{known.path}"
        files = flat_files(partition)
        folder = self._version_folder(snapshot) / _path_below(snapshot, partition)
        if known is not None and os.path.isdir(known.path):  # somebody has changed it
            folder = Path(known.path)
        with self._making:
            if not is_whole(partition, files, folder):
                self._make(snapshot, folder, partition, files)
        with self._lock:
            times = _times(str(folder))
            if times is not None:
                if len(self._known) >= _MAX_KNOWN_FOLDERS:
                    del self._known[next(iter(self._known))]
                self._known[key] = _Folder(str(folder), times)
        return f"file:{folder}"

    def _make(
        self,
        snapshot: TableSnapshot,
        folder: Path,
        partition: PartitionSnapshot | None,
        files: Sequence[FileRecord],
    ) -> None:
        """Make a folder in the place of one that is not as it should be, if there is one."""
        if self._root is None:
            require_place_beside(snapshot, f"file:{folder}")
        if os.path.lexists(folder):
            changed = folder.with_name(f".{folder.name[:64]}.{uuid.uuid4().hex}")
            with contextlib.suppress(FileNotFoundError):  # another thread was faster
                os.rename(folder, changed)
            remove_links(changed)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with make_read_only(
            folder, f"Table {snapshot.label} cannot be read by clients of Hive's metastore"
        ) as new:
            for file, named in zip(partition.files if partition is not None else (), files, strict=True):
                assert partition is not None
                source = storage_path(join_location(partition.location, file.path))
                _require_local(snapshot, source.root)
                os.link(source.path, new / named.path)

    def _version_folder(self, snapshot: TableSnapshot) -> Path:
        name = folder_name(snapshot.version, snapshot.commit.id, self._ending)
        if self._root is not None:
            return self._root / snapshot.id.hex() / name
        return links_folder(snapshot) / name

    def sweep(self, metastore: Metastore) -> None:
        """Remove the folders of versions that are gone, if the folders have a place of their own.

        Raises:
            WarehouseError: the metastore cannot be read.
        """
        if self._root is None or not self._root.is_dir():
            return
        for folder in self._root.iterdir():
            with contextlib.suppress(ValueError):  # not ours
                oldest = _oldest(metastore, bytes.fromhex(folder.name))
                for version in folder.iterdir() if folder.is_dir() else ():
                    number = version.name.partition("-")[0]
                    if (
                        version.name.endswith(SERVED)
                        and number.isdigit()
                        and (oldest is None or int(number) < oldest)
                    ):
                        remove_links(version)
                with contextlib.suppress(OSError):  # it has other versions
                    folder.rmdir()

    def forget(self) -> None:
        """Forget all folders, because the metastore is another one. They stay, and are compared again."""
        with self._lock:
            self._known.clear()


class InPlace:
    """The tables' own folders, for clients that may only read them.

    A folder is named if it has exactly the partition's files. It is listed for each state of the partition,
    and again after some minutes. A note in the metastore would be wrong after a killed write: such a write
    leaves its files and no note. Other writers leave none either.
    """

    def __init__(self) -> None:
        self._checked: dict[tuple[bytes, bytes, int], float] = {}

    def folders(self, snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot]) -> list[str]:
        """Return the locations of partitions.

        Raises:
            UnsupportedError: a folder has other files.
        """
        locations = PartitionSnapshot.locations(partitions) if partitions else []
        for each in partitions:
            key, now = (snapshot.id, each.key, each.ticket), time.monotonic()
            if now - self._checked.get(key, -LISTED_SECONDS) >= LISTED_SECONDS:
                require_folder(snapshot, each, each.each_file())
                if len(self._checked) >= _MAX_KNOWN_FOLDERS:
                    self._checked.clear()
                self._checked[key] = now
        return locations

    def nowhere(self, snapshot: TableSnapshot) -> str:
        """Return the location of a partitioned table."""
        return snapshot.metadata.location

    def empty(self, snapshot: TableSnapshot) -> str:
        """Return the location of a table without files."""
        return snapshot.metadata.location

    def sweep(self, metastore: Metastore) -> None:
        """Remove nothing."""

    def forget(self) -> None:
        """Forget which folders were listed."""
        self._checked.clear()


def folder_name(version: int, commit: str, ending: str = SERVED) -> str:
    """Return the name of a version's folder, by the id of its commit.

    >>> folder_name(7, "0f3a")
    '7-0f3a-hive'
    """
    return f"{version}-{commit[:_COMMIT_CHARACTERS]}{ending}"


def links_folder(snapshot: TableSnapshot) -> Path:
    """Return the folder of a table's links, beside the table's own.

    Raises:
        UnsupportedError: the table's files are on a file system without hard links.
    """
    location = snapshot.metadata.location.rstrip("/")
    _require_local(snapshot, "" if take_apart(location).is_local else location)
    return Path(storage_path(location).path).parent / PUBLISHED_FOLDER / snapshot.id.hex()


def _require_local(snapshot: TableSnapshot, elsewhere: str) -> None:
    if elsewhere:
        raise UnsupportedError(
            f"Table {snapshot.label} cannot be read by clients of Hive's metastore: its files are at {elsewhere}, where no hard "
            "links can be made that they may not write. Start serve-hive with --in-place once their users may only read there; "
            "folders with old files need compact or vacuum then."
        )


def _path_below(snapshot: TableSnapshot, partition: PartitionSnapshot) -> str:
    metadata = snapshot.metadata
    names = [column.physical for column in metadata.partition_columns]
    return partition_paths(names, metadata.partition_types, [partition.values])[0] or "files"


def _times(path: str) -> _Times | None:
    """Return what a change of a folder's entries or rights changes, or None if there is no folder."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def is_whole(partition: PartitionSnapshot, files: Collection[FileRecord], folder: Path) -> bool:
    """Return whether a folder has exactly the links to a partition's files."""
    try:
        if set(os.listdir(folder)) != {file.path for file in files}:
            return False
        return all(
            os.path.samefile(
                storage_path(join_location(partition.location, file.path)).path, folder / named.path
            )
            for file, named in zip(partition.files, files, strict=True)
        )
    except OSError:
        return False


def _oldest(metastore: Metastore, table: bytes) -> int | None:
    """Return the oldest version of a table that is kept, or None if there is no table."""
    newest = metastore.table_of(table)
    if newest is None:
        return None
    try:
        return oldest_version(newest)
    except TableNotFoundError:
        return None
