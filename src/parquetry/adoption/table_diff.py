"""Compare the files below a table's location with the files that the table lists.

The table's own files are recognised by their names. Its live files and the leftovers of older versions are
not new. Files of other tables are left alone (`metastore.deletion.files_of_others`). Nor are other writers'
files that the table removed on purpose, as long as they have not changed since (`compare`). `sync`
decides what to do about the differences.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress
from typing import Any

import pyarrow.fs as pafs

from parquetry.adoption.compare import Changes, RemovedFilesFilter, compare, files_below
from parquetry.adoption.discover import DirectoryLevels, DiscoveredPartition, Unfit, discover
from parquetry.data_files import FooterReader
from parquetry.errors import FileMissingError
from parquetry.locations import is_own, join_location, join_relative, open_location, path_below, remote_files
from parquetry.metastore import FilesOfOthers, PartitionSnapshot, TableMetadata, TableSnapshot
from parquetry.predicate import Filter, KnownValues, Match, match
from parquetry.progress import Progress
from parquetry.types import Value, identity


def diff_table(
    snapshot: TableSnapshot,
    condition: Filter | None,
    unfit: list[Unfit],
    passing: RemovedFilesFilter,
    footers: FooterReader,
    progress: Progress,
) -> Changes:
    """Return the differences between the files below a table's location and the files that it lists.

    Args:
        snapshot: the table as it is.
        condition: on partition columns, to compare only these partitions; or None to compare all.
        unfit: collects files and directories that are no partition's, or another partition's, with the
            reason.
        passing: collects the files that are ignored.
        footers: knows the time zone of directories that are named for timestamps.
        progress: called while directories are listed.

    Raises:
        FileMissingError: the location does not exist.
    """
    metadata = snapshot.metadata
    filesystem, path = open_location(metadata.location)
    names = [column.physical for column in metadata.partition_columns]
    progress("Listing", 0, None)
    which = partial(_select_values, metadata.partition_by, condition)
    every = list(snapshot.partitions())
    known = list(compress(every, which([part.values for part in every])))
    levels = DirectoryLevels(names, metadata.partition_types, zone_of(metadata, footers))
    by_location = _by_location(known)
    partitions_at = dict(by_location)
    columns = frozenset(column.physical.lower() for column in metadata.data_columns)

    def list_paths(relative: str) -> Iterator[str]:
        for part in by_location.get(join_location(metadata.location, relative), ()):
            yield from files_below(part)

    folders = discover(
        filesystem, path, levels, unfit=unfit,
        progress=lambda done, total: progress("Listing", done, total), columns=columns, listed=list_paths,
    )  # fmt: skip
    if not metadata.external and not known:  # nothing may have been written yet
        folders = _none_if_missing(folders, filesystem, path)
    locations = {identity(part.values): part.location for part in known}
    present = []
    for folder in _without_others(folders, snapshot, by_location, unfit):
        in_folder = partitions_at.pop(join_location(metadata.location, folder.relative_path), [])
        contents = _live(snapshot, folder, in_folder, passing, lambda values: which([values])[0])
        expected_location = None if in_folder else locations.get(identity(folder.values))
        if expected_location is None:
            present += contents
        elif any(part.files for part in contents):
            reason = f"the partition lies at {expected_location}. Move the files there, or drop the partition and run this again."
            unfit.append(Unfit(folder.relative_path, reason))
    present += _elsewhere(metadata.location, path, filesystem, partitions_at, unfit)
    changes = compare(present, known, metadata.location)
    # a partition that was added empty has no folder, and has lost nothing
    empty = {identity(part.values) for part in known if not part.files}
    return dataclasses.replace(changes, deleted=tuple(v for v in changes.deleted if identity(v) not in empty))


def _none_if_missing(
    folders: Iterator[DiscoveredPartition], filesystem: pafs.FileSystem, path: str
) -> Iterator[DiscoveredPartition]:
    """Yield the partitions found below a directory; none if the directory is missing.

    An object store has no directory to ask for: a listing without objects says that it is missing.
    """
    remote = remote_files(filesystem)
    if remote is not None and not remote.has_directories:
        with contextlib.suppress(FileMissingError):
            yield from folders
    elif filesystem.get_file_info(path).type != pafs.FileType.NotFound:
        yield from folders


def _by_location(partitions: Sequence[PartitionSnapshot]) -> dict[str, list[PartitionSnapshot]]:
    groups: dict[str, list[PartitionSnapshot]] = defaultdict(list)
    for part in partitions:
        groups[part.location.rstrip("/")].append(part)
    return dict(groups)


def zone_of(metadata: TableMetadata, footers: FooterReader) -> str:
    """Return the time zone of directories' names. Needed only if partitions are named for timestamps."""
    timed = any(type.name == "timestamp" for type in metadata.partition_types)
    return footers.time_zone if timed else "UTC"


def _select_values(
    names: Sequence[str], condition: Filter | None, values: Sequence[tuple[Value, ...]]
) -> list[bool]:
    """Return which values of partitions satisfy a condition, or all True without a condition."""
    if condition is None:
        return [True] * len(values)
    answers = match(condition, KnownValues(names, values))
    return [bool(answer) for answer in answers == Match.MUST]


def _without_others(
    folders: Iterator[DiscoveredPartition],
    snapshot: TableSnapshot,
    by_location: dict[str, list[PartitionSnapshot]],
    unfit: list[Unfit],
) -> Iterator[DiscoveredPartition]:
    """Yield folders without the files of other tables that no partition lists, and report these.

    A folder that has files of other tables alone is no partition, and is left out.
    """
    others = FilesOfOthers(snapshot)
    for folder in folders:
        reasons = {
            file.path: reason for file in folder.files if (reason := others.reason(file.path)) is not None
        }
        parts = by_location.get(join_location(snapshot.metadata.location, folder.relative_path), [])
        listed: set[str] = set().union(*(files_below(part) for part in parts)) if reasons else set()
        reasons = {path: reason for path, reason in reasons.items() if path not in listed}
        unfit += [
            Unfit(join_relative(folder.relative_path, path), f"{reason}.") for path, reason in reasons.items()
        ]
        remaining = tuple(file for file in folder.files if file.path not in reasons)
        if remaining or parts or not reasons:
            yield dataclasses.replace(folder, files=remaining) if reasons else folder


def _live(
    snapshot: TableSnapshot,
    folder: DiscoveredPartition,
    in_folder: Sequence[PartitionSnapshot],
    passing: RemovedFilesFilter,
    wanted: Callable[[tuple[Value, ...]], bool],
) -> list[DiscoveredPartition]:
    """Return the content of a folder for each wanted partition in it, without leftovers of older versions.

    A renamed partition stays in its folder. So does a later partition with the old name, beside it. Unknown
    files belong to the partition that the folder is named for.
    """
    listed = {identity(part.values): files_below(part).keys() for part in in_folder}
    every: set[str] = set().union(*listed.values())
    new = tuple(
        file for file in folder.files if not is_own(file.path, snapshot.owner) and file.path not in every
    )
    owner = in_folder[0].values if in_folder and identity(folder.values) not in listed else folder.values
    passing.meet(folder, every)
    new = passing.sift(folder, owner, new) if wanted(owner) else ()
    contents = []
    for part in in_folder:
        if not wanted(part.values):
            continue
        own_paths = listed[identity(part.values)]
        files = tuple(file for file in folder.files if file.path in own_paths)
        files += new if identity(part.values) == identity(owner) else ()
        contents.append(dataclasses.replace(folder, values=part.values, files=tuple(sorted(files))))
    # a folder with nothing but leftovers of older versions is no new partition
    if in_folder or not wanted(owner):
        return contents
    return [dataclasses.replace(folder, files=new)] if new or not folder.files else []


def _elsewhere(
    location: str,
    path: str,
    filesystem: Any,
    partitions_at: dict[str, list[PartitionSnapshot]],
    unfit: list[Unfit],
) -> list[DiscoveredPartition]:
    """Return the partitions in folders below the table's that are not named for their values."""
    present = []
    for folder_location, partitions in partitions_at.items():
        relative = path_below(location, folder_location)
        if relative is None or filesystem.get_file_info(f"{path}/{relative}").type == pafs.FileType.NotFound:
            continue
        listed = frozenset(name for part in partitions for name in files_below(part))
        for folder in discover(filesystem, f"{path}/{relative}", listed=_always(listed)):
            files = {file.path: file for file in folder.files}
            for part in partitions:
                own_files = (files[path] for path in files_below(part).keys() & files.keys())
                present.append(DiscoveredPartition(part.values, relative, tuple(sorted(own_files))))
        unfit[:] = [item for item in unfit if not f"{relative}/".startswith(f"{item.path}/")]
    return present


def _always(paths: frozenset[str]) -> Callable[[str], frozenset[str]]:
    return lambda _: paths
