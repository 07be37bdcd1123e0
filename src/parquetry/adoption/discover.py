"""Find the partitions and files below a table's location.

Directories are listed, but files are not opened (`data_files.footers` opens them) and not recorded
(the metastore does that). Names that Spark hides are left out (`locations.is_hidden`), and so are empty
files.
"""

from __future__ import annotations

import contextlib
import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow.fs as pafs

from parquetry.adoption.cell_directories import DirectoryListing, DiscoveredFile, files_in_cells
from parquetry.errors import FileMissingError, ValueTypeError, WarehouseError
from parquetry.locations import (
    SINK_LOG,
    RemoteFiles,
    is_any_own,
    is_hidden,
    join_relative,
    parse_partition_path,
    remote_files,
    sink_files,
    stored_value,
)
from parquetry.types import ColumnType, Value, identity

__all__ = ["NOT_READ", "DirectoryLevels", "DiscoveredFile", "DiscoveredPartition", "Unfit", "discover"]

NOT_READ = "directories below a partition are not read. Move the files up."
"""The reason why a directory below a partition is ignored."""
NOT_IN_LOG = (
    f"the log of the stream that writes here ({SINK_LOG}) does not list the file, so Spark does not read it, either. "
    "If its rows are wanted, copy them with INSERT INTO."
)
"""The reason why a file beside the log of a stream is ignored."""
_EMPTY = DirectoryListing([], [])
_MAX_LISTING_THREADS = 8
"""Directories that are listed at the same time."""


@dataclass(frozen=True, slots=True)
class DiscoveredPartition:
    """A directory that holds a partition, or the location of a table without partition columns.

    Attributes:
        values: internal values of the partition columns.
        relative_path: the directory's path below the location as it is written, `''` for the location itself.
            If `locations.partition_path.partition_path` writes it differently (`p=007`), it has to be
            recorded.
        files: the files in it, by their paths.
    """

    values: tuple[Value, ...]
    relative_path: str
    files: tuple[DiscoveredFile, ...]


@dataclass(frozen=True, slots=True)
class Unfit:
    """A file or directory that belongs to no partition: its path below the location, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class DirectoryLevels:
    """The levels of directories below a location, one for each partition column.

    Attributes:
        names: of the columns, in the order of the directories; letter case does not matter.
        types: their types.
        zone: the time zone of timestamps in paths.
    """

    names: Sequence[str]
    types: Sequence[ColumnType]
    zone: str = "UTC"


NO_LEVELS = DirectoryLevels((), ())
"""For a table without partition columns: the location itself is the only partition."""
Misfit = Callable[[str, str], None]
"""Takes the path of a file or directory that belongs to no partition, and the reason."""


def discover(
    filesystem: pafs.FileSystem,
    location: str,
    levels: DirectoryLevels = NO_LEVELS,
    *,
    unfit: list[Unfit] | None = None,
    progress: Callable[[int, int], None] | None = None,
    columns: Collection[str] = (),
    listed: Callable[[str], Iterable[str]] = lambda _: (),
) -> Iterator[DiscoveredPartition]:
    """Find the partitions below a location, in the order of their paths.

    Args:
        filesystem: of the table; see `locations.filesystem.open_location`.
        location: the table's path on `filesystem`.
        levels: the directories of partitions.
        unfit: collects files and directories of no partition; without it they are an error. Directories below
            the last level are never an error: Spark does not read them.
        progress: called with the number of listed partitions and of all partitions.
        columns: names of the data columns, in lower case, whose directories for heavy values are read.
        listed: returns for a partition's path the paths of files that are found in any directory below it.

    Raises:
        FileMissingError: the location does not exist.
        ValueTypeError: a path does not fit and there is no `unfit`; or two paths mean one partition.
        WarehouseError: a directory cannot be listed.
    """
    root = location.rstrip("/") or "/"
    listing = _lister(filesystem, root, unfit)

    def list_below(partition: str, below: Iterable[str]) -> Iterator[DirectoryListing]:
        return pool.map(listing, [join_relative(partition, path) for path in below])

    def misfit(path: str, reason: str) -> None:
        if unfit is None:
            raise ValueTypeError(f"Below '{location}', {reason}")
        unfit.append(Unfit(path, reason))

    pool = ThreadPoolExecutor(max_workers=_MAX_LISTING_THREADS)
    try:
        paths = _folders(levels, lambda paths: pool.map(listing, paths), misfit)
        partitions = list(_partitions(levels, paths, misfit))
        listings = pool.map(listing, [path for path, _ in partitions])
        for done, ((path, values), content) in enumerate(zip(partitions, listings, strict=True), 1):
            in_cells, unread = files_in_cells(
                functools.partial(list_below, path),
                content.directories,
                columns,
                set(listed(path)) if content.directories else (),
            )
            if unfit is not None:
                unfit += [Unfit(join_relative(path, name), NOT_READ) for name in unread]
            if progress is not None:
                progress(done, len(partitions))
            yield DiscoveredPartition(values, path, tuple(sorted((*content.files, *in_cells))))
    finally:
        # A caller that stops early, or fails, need not wait for the other directories.
        pool.shutdown(cancel_futures=True)


def _folders(
    levels: DirectoryLevels, listings: Callable[[list[str]], Iterable[DirectoryListing]], misfit: Misfit
) -> list[str]:
    """Return the paths of the directories on the last level, even if their own names do not fit."""
    paths = [""]
    for depth in range(len(levels.names)):
        below: list[str] = []
        for path, content in zip(paths, listings(paths), strict=True):
            for file in content.files:
                name = join_relative(path, file.path)
                misfit(name, f"the file '{name}' is outside the partitions. Move it into one, or away.")
            below += [join_relative(path, name) for name in content.directories]
        last = depth == len(levels.names) - 1
        paths = [path for path in below if last or _fits(path, levels, misfit)]
    return paths


def _partitions(
    levels: DirectoryLevels, paths: Iterable[str], misfit: Misfit
) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Yield the paths of partitions, each with its values."""
    seen: dict[tuple[Value, ...], str] = {}
    for path in paths:
        values = _fits(path, levels, misfit) if levels.names else ()
        if values is None:
            continue
        first = seen.setdefault(identity(values), path)
        if first == path:
            yield path, values
        else:
            misfit(path, f"'{path}' and '{first}' are the same partition. Merge them into one directory.")


def _fits(path: str, levels: DirectoryLevels, misfit: Misfit) -> tuple[Value, ...] | None:
    depth = path.count("/") + 1
    names, types = levels.names[:depth], levels.types[:depth]
    try:
        return tuple(map(stored_value, parse_partition_path(path, names, types, levels.zone)))
    except ValueTypeError as error:
        misfit(path, f"a directory does not fit. {error.message}")
        return None


def _lister(
    filesystem: pafs.FileSystem, root: str, unfit: list[Unfit] | None
) -> Callable[[str], DirectoryListing]:
    """Return what lists a directory, given its path below a root. Elsewhere than on a local disk, all were
    listed at once before. Where a stream keeps a log, files that it does not list are left out.
    """
    if (remote := remote_files(filesystem)) is not None:
        tree, has_log = _list_tree(remote, root)
        committed = sink_files(filesystem, root) if has_log else None
    else:
        tree, committed = None, sink_files(filesystem, root)

    def listing(relative: str) -> DirectoryListing:
        if tree is not None:
            content = tree.get(relative, _EMPTY)
        else:
            content = _list(filesystem, f"{root.rstrip('/')}/{relative}" if relative else root)
        if committed is None:
            return content
        kept = [file for file in content.files if file.path in committed or is_any_own(file.path)]
        if unfit is not None:
            left_out = sorted({file.path for file in content.files} - {file.path for file in kept})
            unfit.extend(Unfit(join_relative(relative, name), NOT_IN_LOG) for name in left_out)
        return DirectoryListing(content.directories, kept)

    return listing


def _list(filesystem: pafs.FileSystem, path: str) -> DirectoryListing:
    with _listing_errors(path):
        infos = filesystem.get_file_info(pafs.FileSelector(path))
    directories, files = [], []
    for info in infos:
        if is_hidden(info.base_name):
            continue
        if info.type == pafs.FileType.Directory:
            directories.append(info.base_name)
        elif info.size:
            files.append(_file_from_info(info))
    return DirectoryListing(sorted(directories), sorted(files))


def _list_tree(remote: RemoteFiles, root: str) -> tuple[dict[str, DirectoryListing], bool]:
    """List all directories below one at once, by their paths, and whether a stream keeps a log there.

    Directories are known by the files in them, too.
    """
    has_log = False
    directories: dict[str, set[str]] = defaultdict(set)
    files: dict[str, list[DiscoveredFile]] = defaultdict(list)
    with _listing_errors(root):
        for info in remote.walk(root):
            path = info.path[len(root) :].strip("/")
            if any(map(is_hidden, path.split("/"))):
                has_log = has_log or path.partition("/")[0] == SINK_LOG
                continue
            folder = path if info.type == pafs.FileType.Directory else path.rpartition("/")[0]
            while folder and folder.rpartition("/")[2] not in directories[folder.rpartition("/")[0]]:
                directories[folder.rpartition("/")[0]].add(folder.rpartition("/")[2])
                folder = folder.rpartition("/")[0]
            if info.type != pafs.FileType.Directory and info.size:
                files[path.rpartition("/")[0]].append(_file_from_info(info))
    tree = {
        folder: DirectoryListing(sorted(directories.get(folder, ())), sorted(files.get(folder, ())))
        for folder in directories.keys() | files.keys()
    }
    return tree, has_log


def _file_from_info(info: pafs.FileInfo) -> DiscoveredFile:
    modified = info.mtime_ns
    return DiscoveredFile(info.base_name, info.size, None if modified is None else modified // 1_000_000)


@contextlib.contextmanager
def _listing_errors(path: str) -> Iterator[None]:
    """Name the directory that cannot be listed."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileMissingError(f"There is no directory '{path}'. Check the table's location.") from error
    except OSError as error:
        raise WarehouseError(f"Cannot list the directory '{path}': {error}. Check its rights.") from error
