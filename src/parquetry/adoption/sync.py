"""Adopt what lies on disk: partitions and files that others wrote, changed or removed.

What lies there, and how it differs from what the table lists, is `table_diff`'s to find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from parquetry.adoption.buckets import assign_partition_buckets, look_again, unbucketed
from parquetry.adoption.cells import Adopted, adopt
from parquetry.adoption.compare import ChangedPartition, Changes
from parquetry.adoption.discover import NOT_READ, DiscoveredPartition, Unfit
from parquetry.adoption.removed_before import RemovedFilesFilter
from parquetry.adoption.table_diff import diff_table, zone_of
from parquetry.data_files import FileRecord, FooterReader, twice_named, unfit_columns
from parquetry.errors import CommitConflictError
from parquetry.locations import join_location, join_relative, path_below, path_within
from parquetry.maintenance import Difference
from parquetry.maintenance.deletion import require_files
from parquetry.maintenance.partition_condition import partition_condition
from parquetry.metastore.commits import Transaction, commit
from parquetry.metastore.manifest import row_sum
from parquetry.metastore.versions import TableSnapshot
from parquetry.predicate import Filter
from parquetry.progress import Progress, silent, track
from parquetry.types import Value
from parquetry.verification import lacks_tuples

_MAX_COMMIT_ATTEMPTS = 5
"""How often to look at what others have just changed."""


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """What a sync is to do.

    Attributes:
        where: a filter on partition columns: only these partitions.
        dry_run: report what would be done, and do nothing.
        add: take in what is new or changed.
        drop: take out what is gone.
        readopt: take in again what a version took out on purpose, too.
        buckets: look again at files that were not believed to lie in buckets.
    """

    where: str | None = None
    dry_run: bool = False
    add: bool = True
    drop: bool = True
    readopt: bool = False
    buckets: bool = False


DEFAULTS = SyncOptions()


def synchronise(
    snapshot: TableSnapshot,
    footers: FooterReader,
    options: SyncOptions = DEFAULTS,
    progress: Progress = silent,
) -> list[Difference]:
    """Make a table agree with the files below its location, in one commit.

    What others change meanwhile is looked at again: two who adopt one file at once both succeed, and it is listed
    once.

    Args:
        snapshot: the table as it is.
        footers: reads those of the files that are new.
        options: which partitions, and what is to be done.
        progress: called with what is listed or read.

    Returns:
        What is said of each partition that differs, or in which something is passed over.

    Raises:
        FilterError: the filter cannot be used.
        FileMissingError: the table's location is not there.
        CommitConflictError: other writers changed one of these partitions each time, or a vacuum is deleting files.
    """
    sync = _Sync(footers, options, progress)
    for _ in range(_MAX_COMMIT_ATTEMPTS - 1):
        try:
            return sync.run(snapshot)
        except CommitConflictError:
            now = snapshot.refresh()
            if now.version == snapshot.version:
                raise
            snapshot = now
    return sync.run(snapshot)


@dataclass(frozen=True, slots=True)
class _Sync:
    """What was asked for; see `synchronise`."""

    footers: FooterReader
    options: SyncOptions
    progress: Progress

    def run(self, snapshot: TableSnapshot) -> list[Difference]:
        condition = self._condition(snapshot)
        unfit: list[Unfit] = []
        passing = RemovedFilesFilter(snapshot, self.options.readopt)
        changes = diff_table(snapshot, condition, unfit, passing, self.footers, self.progress)
        transaction = Transaction(snapshot, "sync")
        transaction.leave_records()
        if condition is None:  # otherwise not all folders were looked at
            transaction.record_removed_files(dict.fromkeys(passing.stale()))
        taken = _locations(snapshot, changes)
        transaction.adopt(lambda: require_files(snapshot.label, taken))
        differences: list[Difference] = []
        if self.options.add:
            for found in track(self.progress, "Reading new partitions", changes.added):
                differences += self._added(transaction, found, unfit)
            for change in track(self.progress, "Reading changed partitions", changes.changed):
                differences += self._changed(transaction, change, unfit)
        if self.options.add and self.options.buckets:
            differences += look_again(transaction, condition)
        differences += [self._drop_partition(transaction, values) for values in changes.deleted]
        differences += passing.differences()
        differences += [Difference("ignored", detail=f"{item.path}: {item.reason}") for item in unfit]
        if not self.options.dry_run:
            commit(transaction)
        return differences

    def _condition(self, snapshot: TableSnapshot) -> Filter | None:
        if self.options.where is None:
            return None
        zone = zone_of(snapshot.metadata, self.footers)
        return partition_condition(snapshot, self.options.where, zone)

    def _added(
        self, transaction: Transaction, folder: DiscoveredPartition, unfit: list[Unfit]
    ) -> Iterator[Difference]:
        """Have the transaction add a partition, with the files that lie in its folder."""
        snapshot = transaction.base
        root, place = snapshot.metadata.location, folder.relative_path
        files, differences = self._read(snapshot, folder, [file.path for file in folder.files])
        metadata, lies_at = snapshot.metadata, join_location(root, place)
        lacks = lacks_tuples(lies_at, metadata.format)
        adopted = adopt(files, metadata.data_columns, metadata.arrangement, lacks)
        bucketed = assign_partition_buckets(
            snapshot, folder.values, lies_at, adopted, [metadata.arrangement.buckets]
        )
        own_place = place != path_below(root, snapshot.placement.default_location(folder.values))
        location = lies_at if own_place and place else None
        arrangement = msgspec.structs.replace(adopted.arrangement, buckets=bucketed.buckets)
        transaction.add(folder.values, location, bucketed.files, arrangement)
        yield _partition_difference(snapshot, "added", folder.values, adopted.files)
        yield from differences
        yield from _doubted(snapshot, folder, adopted, unfit)
        yield from unbucketed(snapshot, folder.values, lies_at, bucketed)

    def _changed(
        self, transaction: Transaction, change: ChangedPartition, unfit: list[Unfit]
    ) -> Iterator[Difference]:
        """Have the transaction replace a partition's files: those unchanged, and those read anew."""
        snapshot, values = transaction.base, change.partition.values
        known = snapshot.partition(values)
        assert known is not None  # `compare` found it among the known ones
        read, differences = self._read(snapshot, change.partition, [file.path for file in change.added])
        found = {file.path for file in read}
        broken = {file.path for file in change.added} - found
        # a file that was listed and is broken now stays listed: queries fail, instead of passing over its rows in silence
        gone = [path for path in change.deleted if path not in broken]
        dropped = {*gone, *found}
        kept = [file for file in known.files if path_within(known.location, file.path) not in dropped]
        lacks = lacks_tuples(known.location, snapshot.metadata.format)
        adopted = adopt(read, snapshot.metadata.data_columns, known.arrangement, lacks, kept)
        specs = [known.arrangement.buckets]
        if not kept:  # whoever wrote all of it anew may have gone by what the table says today
            specs.append(snapshot.metadata.arrangement.buckets)
        bucketed = assign_partition_buckets(snapshot, values, known.location, adopted, specs)
        if adopted.files or gone:
            files = [*adopted.before, *bucketed.files]
            arrangement = msgspec.structs.replace(adopted.arrangement, buckets=bucketed.buckets)
            transaction.replace(values, files, known.entry.location, arrangement)
            detail = f"{len(adopted.files)} read, {len(gone)} gone"
            yield _partition_difference(snapshot, "changed", values, files, detail)
        yield from differences
        yield from _doubted(snapshot, change.partition, adopted, unfit)
        yield from unbucketed(snapshot, values, known.location, bucketed)

    def _drop_partition(self, transaction: Transaction, values: tuple[Value, ...]) -> Difference:
        """Have the transaction drop a partition whose files are gone, if that was asked for."""
        snapshot = transaction.base
        known = snapshot.partition(values)
        files = list(known.files) if known is not None else []
        if self.options.drop:
            transaction.drop(values)
        kept = "kept: MSCK REPAIR TABLE … SYNC PARTITIONS or CALL system.sync takes it out"
        return _partition_difference(snapshot, "gone", values, files, None if self.options.drop else kept)

    def _read(
        self, snapshot: TableSnapshot, folder: DiscoveredPartition, paths: Sequence[str]
    ) -> tuple[list[FileRecord], list[Difference]]:
        """Return what the footers of files say, and what to tell of those that are broken or do not fit the table's columns."""
        metadata, broken = snapshot.metadata, dict[str, str]()
        unfit: dict[str, list[str]] = {}

        def look(path: str, footer: Any) -> None:
            if sentences := list(unfit_columns(footer, metadata.data_columns)):
                unfit[path] = sentences

        location = join_location(metadata.location, folder.relative_path)
        files = self.footers.data_files(metadata.format, location, paths, broken=broken, look=look)
        if metadata.format != "parquet":  # of which nobody shows the footers
            for file in files:
                if sentences := list(twice_named(file.columns or (), metadata.data_columns)):
                    unfit[file.path] = sentences
        name = snapshot.describe(snapshot.key_of(folder.values)) if folder.values else None
        differences = [Difference("broken", name, detail=broken[path]) for path in paths if path in broken]
        for path in sorted(unfit):
            differences += [
                Difference("unfit", name, detail=f"{join_relative(folder.relative_path, path)}: {each}.")
                for each in unfit[path]
            ]
        return files, differences


def _locations(snapshot: TableSnapshot, changes: Changes) -> list[str]:
    """Return where the files lie that are taken in."""
    found = [*changes.added, *(change.partition for change in changes.changed)]
    return [
        join_location(join_location(snapshot.metadata.location, each.relative_path), file.path)
        for each in found
        for file in each.files
    ]


def _doubted(
    snapshot: TableSnapshot, folder: DiscoveredPartition, adopted: Adopted, unfit: list[Unfit]
) -> Iterator[Difference]:
    """Tell of directories that are not taken in, and of files that are not what their directories are named for."""
    unfit += [Unfit(join_relative(folder.relative_path, path), NOT_READ) for path in adopted.refused]
    name = snapshot.describe(snapshot.key_of(folder.values)) if folder.values else None
    for path in adopted.doubted:
        reason = (
            "the file's statistics contradict the name of its directory. It is read, and every query looks at it as far "
            "as its statistics do not rule it out."
        )
        yield Difference("ignored", name, detail=f"{join_relative(folder.relative_path, path)}: {reason}")


def _partition_difference(
    snapshot: TableSnapshot,
    action: str,
    values: tuple[Value, ...],
    files: Sequence[FileRecord],
    detail: str | None = None,
) -> Difference:
    name = snapshot.describe(snapshot.key_of(values)) if values else None
    return Difference(action, name, len(files), row_sum(files), sum(file.bytes for file in files), detail)
