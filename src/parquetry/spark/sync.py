"""Adopt what lies on disk: partitions and files that others wrote, changed or removed.

The table's own files are known by their names: those a commit has listed are live, those it no longer lists are
left over from older versions, and neither is adopted anew. Nor are others' files that the table took out on
purpose, as long as they have not changed since (`passing_over`).
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow.fs as pafs
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import Progress

from parquetry.errors import CommitConflictError, FilterError
from parquetry.layout.changes import ChangedPartition, Changes, compare, files_below
from parquetry.layout.discover import FoundPartition, Unfit, discover, identity
from parquetry.layout.file_names import is_own
from parquetry.layout.location import open_location
from parquetry.layout.places import join_location, path_below, path_within
from parquetry.maintenance.files import require_files
from parquetry.metastore.snapshot import Partition, TableSnapshot
from parquetry.predicate.filter import Filter
from parquetry.predicate.match import Match, match_values
from parquetry.predicate.parse import parse_filter
from parquetry.spark.footers import data_files
from parquetry.spark.passing_over import PassingOver
from parquetry.types import Value

COLUMNS = (
    ("action", "string"),
    ("partition", "string"),
    ("files", "long"),
    ("rows", "long"),
    ("bytes", "long"),
    ("detail", "string"),
)
"""What `synchronise` gives: name and type of each column."""
_ATTEMPTS = 5
"""How often to look at what others have just changed."""


def synchronise(
    snapshot: TableSnapshot,
    *,
    where: str | None = None,
    dry_run: bool = False,
    add: bool = True,
    drop: bool = True,
    readopt: bool = False,
) -> list[list[str | None]]:
    """Make a table agree with the files below its location, in one commit.

    What others change meanwhile is looked at again: two who adopt one file at once both succeed, and it is listed
    once.

    Args:
        snapshot: the table as it is.
        where: a filter on partition columns: only these partitions.
        dry_run: report what would be done, and do nothing.
        add: take in what is new or changed.
        drop: take out what is gone.
        readopt: take in again what a version took out on purpose, too.

    Returns:
        A row for each partition that differs, or in which something is passed over, as text in the order of
        `COLUMNS`.

    Raises:
        FilterError: the filter cannot be used.
        FileCorruptError: a file that would be taken in cannot be read.
        FileMissingError: the table's location is not there.
        CommitConflictError: other writers changed one of these partitions each time, or a vacuum is deleting files.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return _synchronise(snapshot, where, dry_run, add, drop, readopt)
        except CommitConflictError:
            now = snapshot.refresh()
            if now.version == snapshot.version:
                raise
            snapshot = now
    return _synchronise(snapshot, where, dry_run, add, drop, readopt)


def _synchronise(
    snapshot: TableSnapshot, where: str | None, dry_run: bool, add: bool, drop: bool, readopt: bool
) -> list[list[str | None]]:
    types = dict(zip(snapshot.metadata.partition_by, snapshot.metadata.partition_types, strict=True))
    if where is not None and not types:
        raise FilterError(f"table {snapshot.label} has no partition columns to filter by", where, 0)
    condition = None if where is None else parse_filter(where, types)
    unfit: list[Unfit] = []
    passing = PassingOver(snapshot, readopt)
    with _progress() as progress:
        changes = _changes(snapshot, condition, unfit, passing, progress)
        rows: list[list[str | None]] = []
        transaction = snapshot.begin("sync")
        transaction.leave_records()
        if condition is None:  # otherwise not all folders were looked at
            transaction.record_taken_out(dict.fromkeys(passing.stale()))
        taken = _locations(snapshot, changes)
        transaction.adopt(lambda: require_files(snapshot.label, taken))
        if add:
            for found in progress.track(changes.added, description="Reading new partitions"):
                files = _read(snapshot, found, [file.path for file in found.files])
                own_place = found.relative_path != _default_path(snapshot, found.values)
                location = (
                    join_location(snapshot.metadata.location, found.relative_path) if own_place else None
                )
                transaction.add(found.values, location, files)
                rows.append(_row(snapshot, "added", found.values, files, ""))
            track = progress.track(changes.changed, description="Reading changed partitions")
            rows += [_change(snapshot, transaction, change) for change in track]
        for values in changes.gone:
            known = snapshot.partition(values)
            files = list(known.files) if known is not None else []
            if drop:
                transaction.drop(values)
            kept = (
                "" if drop else "kept: MSCK REPAIR TABLE … SYNC PARTITIONS or CALL system.sync takes it out"
            )
            rows.append(_row(snapshot, "gone", values, files, kept))
    rows += passing.rows()
    rows += [["ignored", None, None, None, None, f"{item.path}: {item.reason}"] for item in unfit]
    if not dry_run:
        transaction.commit()
    return rows


@contextmanager
def _progress() -> Iterator[Progress]:
    with Progress(console=Console(stderr=True), transient=True) as progress:
        yield progress


def _default_path(snapshot: TableSnapshot, values: Sequence[Value]) -> str:
    return path_below(snapshot.metadata.location, snapshot.default_location(values)) or ""


def _changes(
    snapshot: TableSnapshot,
    condition: Filter | None,
    unfit: list[Unfit],
    passing: PassingOver,
    progress: Progress,
) -> Changes:
    metadata = snapshot.metadata
    filesystem, path = open_location(metadata.location)
    names = [column.physical for column in metadata.partition_columns]
    task = progress.add_task("Listing", total=None)

    def wanted(values: tuple[Value, ...]) -> bool:
        row = dict(zip(metadata.partition_by, values, strict=True))
        return condition is None or match_values(condition.node, row) is Match.MUST

    known = [part for part in snapshot.partitions() if wanted(part.values)]
    if not metadata.external and not known and filesystem.get_file_info(path).type == pafs.FileType.NotFound:
        return Changes((), (), ())  # nothing was written yet
    zone = SparkSession.active().conf.get("spark.sql.session.timeZone")
    found = discover(
        filesystem, path, names, metadata.partition_types, zone, unfit=unfit,
        progress=lambda done, total: progress.update(task, completed=done, total=total),
    )  # fmt: skip
    lying: dict[str, list[Partition]] = defaultdict(list)
    for part in known:
        lying[part.location.rstrip("/")].append(part)
    places = {identity(part.values): part.location for part in known}
    present = []
    for folder in found:
        here = lying.pop(join_location(metadata.location, folder.relative_path), [])
        lives = _live(snapshot, folder, here, passing, wanted)
        place = None if here else places.get(identity(folder.values))
        if place is None:
            present += lives
        elif any(part.files for part in lives):
            reason = f"the partition lies at {place}. Move the files there, or drop the partition and run this again."
            unfit.append(Unfit(folder.relative_path, reason))
    present += _elsewhere(metadata.location, path, filesystem, lying, unfit)
    changes = compare(present, known, metadata.location)
    # a partition that was added empty has no folder, and has lost nothing
    empty = {identity(part.values) for part in known if not part.files}
    return dataclasses.replace(changes, gone=tuple(v for v in changes.gone if identity(v) not in empty))


def _live(
    snapshot: TableSnapshot,
    found: FoundPartition,
    here: Sequence[Partition],
    passing: PassingOver,
    wanted: Callable[[tuple[Value, ...]], bool],
) -> list[FoundPartition]:
    """Return what a folder holds of each wanted partition that lies in it, without what older versions left there.

    A renamed partition stays in its folder, so that one that gets its old name comes to lie there, too. Files
    that nobody knows belong to the partition that the folder is named for.
    """
    listed = {identity(part.values): files_below(part).keys() for part in here}
    every: set[str] = set().union(*listed.values())
    new = tuple(file for file in found.files if not is_own(file.path, snapshot.id) and file.path not in every)
    owner = here[0].values if here and identity(found.values) not in listed else found.values
    passing.meet(found, every)
    new = passing.sift(found, owner, new) if wanted(owner) else ()
    lives = []
    for part in here:
        if not wanted(part.values):
            continue
        mine = listed[identity(part.values)]
        files = tuple(file for file in found.files if file.path in mine)
        files += new if identity(part.values) == identity(owner) else ()
        lives.append(dataclasses.replace(found, values=part.values, files=tuple(sorted(files))))
    # a folder that holds only what older versions left is no new partition
    if here or not wanted(owner):
        return lives
    return [dataclasses.replace(found, files=new)] if new or not found.files else []


def _elsewhere(
    location: str, path: str, filesystem: Any, lying: dict[str, list[Partition]], unfit: list[Unfit]
) -> list[FoundPartition]:
    """Return the partitions whose folders are below the table's, and not named for their values."""
    present = []
    for place, partitions in lying.items():
        relative = path_below(location, place)
        if relative is None or filesystem.get_file_info(f"{path}/{relative}").type == pafs.FileType.NotFound:
            continue
        for folder in discover(filesystem, f"{path}/{relative}", (), ()):
            files = {file.path: file for file in folder.files}
            for part in partitions:
                mine = (files[path] for path in files_below(part).keys() & files.keys())
                present.append(FoundPartition(part.values, relative, tuple(sorted(mine))))
        unfit[:] = [item for item in unfit if not f"{relative}/".startswith(f"{item.path}/")]
    return present


def _locations(snapshot: TableSnapshot, changes: Changes) -> list[str]:
    """Return where the files lie that are taken in."""
    found = [*changes.added, *(change.partition for change in changes.changed)]
    return [
        join_location(join_location(snapshot.metadata.location, each.relative_path), file.path)
        for each in found
        for file in each.files
    ]


def _read(snapshot: TableSnapshot, found: FoundPartition, paths: Sequence[str]) -> list[Any]:
    location = join_location(snapshot.metadata.location, found.relative_path)
    return data_files(SparkSession.active(), snapshot.metadata.format, location, paths)


def _change(snapshot: TableSnapshot, transaction: Any, change: ChangedPartition) -> list[str | None]:
    """Have the transaction replace a partition's files: those unchanged, and those read anew."""
    known = snapshot.partition(change.partition.values)
    assert known is not None  # `compare` found it among the known ones
    dropped = {*change.gone, *(file.path for file in change.added)}
    kept = [file for file in known.files if path_within(known.location, file.path) not in dropped]
    read = _read(snapshot, change.partition, [file.path for file in change.added])
    transaction.replace(change.partition.values, [*kept, *read], known.entry.location)
    return _row(
        snapshot,
        "changed",
        change.partition.values,
        [*kept, *read],
        f"{len(read)} read, {len(change.gone)} gone",
    )


def _row(
    snapshot: TableSnapshot, action: str, values: tuple[Value, ...], files: Sequence[Any], detail: str
) -> list[str | None]:
    name = snapshot.describe(snapshot.key_of(values)) if values else None
    rows = [file.rows for file in files]
    counted = None if None in rows else str(sum(rows))
    return [action, name, str(len(files)), counted, str(sum(file.bytes for file in files)), detail or None]
