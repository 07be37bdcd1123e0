"""Tables of a copied warehouse with files outside of it: which of them belong to the original.

A copy has the original's locations, so files outside belong to the original. `relocate` tells a copy that
these files were copied, too. Then the table has other locations than in the original, and is the copy's own.

A table is the original's as long as the original's metastore cannot be read, or no longer has the table.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping

from parquetry.errors import ParquetryError
from parquetry.locations import StoragePath, storage_path
from parquetry.metastore.ownership.mark import canonical, is_same_folder, read_mark
from parquetry.metastore.storage.format import check_format
from parquetry.metastore.warehouse_store import WarehouseStore
from parquetry.store import reopen_store

_Key = tuple[object, object]
"""A name of a folder: its file system and path. A local folder has its device and number as another one."""
_CACHED_FOLDERS = 10_000


def shared_tables(store: WarehouseStore, warehouse: str, original: str | None) -> set[bytes]:
    """Return the ids of tables with files outside of a copied warehouse that belong to the original.

    Args:
        store: of the copy's metastore.
        warehouse: the copy's folder.
        original: the original's folder, or None if it is unknown: then all such tables are returned.
    """
    outside = store.locations_outside()
    theirs = None if original is None or not outside else _locations_of(original, warehouse)
    if theirs is None:
        return set(outside)
    folders = _Folders([original or "", *(each for some in theirs.values() for each in some)])
    return {
        table
        for table, locations in outside.items()
        if table not in theirs or any(map(folders.overlap, locations))
    }


def _locations_of(original: str, copy: str) -> Mapping[bytes, set[str]] | None:
    """Return all locations in the original's metastore by the ids of tables, or None if it cannot be read."""
    if canonical(original) == canonical(copy) or is_same_folder(original, copy):
        return None
    try:
        if (mark := read_mark(original)) is None:
            return None
        rows = reopen_store(mark.store, original)
    except (ParquetryError, ImportError, OSError):
        return None
    try:
        return WarehouseStore(rows, original, check_format(rows, create=False)).locations()
    except ParquetryError:
        return None
    finally:
        rows.close()


class _Folders:
    """Some folders. Another one overlaps with them if it is one of them, within one, or above one."""

    def __init__(self, locations: Iterable[str]) -> None:
        self._own: set[_Key] = set()
        self._above: set[_Key] = set()
        self._hdfs: set[str] = set()
        self._identity = functools.lru_cache(_CACHED_FOLDERS)(_local_identity)
        for location in locations:
            folder = storage_path(canonical(location))
            own, *above = self._upwards(folder)
            self._own.update(own)
            self._above.update(key for keys in above for key in keys)
            if _is_hdfs(folder):
                self._hdfs.add(str(folder.root))

    def overlap(self, location: str) -> bool:
        """Return whether a folder may have files in common with these."""
        folder = storage_path(canonical(location))
        if _is_hdfs(folder) and self._hdfs - {str(folder.root)}:
            return True  # several names may lead to one HDFS
        own, *above = self._upwards(folder)
        return any(key in self._own or key in self._above for key in own) or any(
            key in self._own for keys in above for key in keys
        )

    def _upwards(self, folder: StoragePath) -> Iterator[tuple[_Key, ...]]:
        """Yield the keys of a folder and of each folder above it."""
        path = folder.path
        while True:
            named: _Key = (str(folder.root), path)
            yield (named,) if folder.root else (named, *self._identity(path))
            if path == "/":
                return
            path = path.rpartition("/")[0] or "/"


def _is_hdfs(folder: StoragePath) -> bool:
    return str(folder.root).partition(":")[0] in ("hdfs", "viewfs", "webhdfs", "swebhdfs")


def _local_identity(path: str) -> tuple[_Key, ...]:
    """Return the device and number of a local folder, the same by each mount, or nothing if it is missing."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return ((status.st_dev, status.st_ino),)
