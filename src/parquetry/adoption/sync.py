"""Adopt partitions and files that others wrote, changed or removed.

`table_diff` finds out how the files on disk differ from the files that the table lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parquetry.adoption.buckets import adopt_files, look_again
from parquetry.adoption.cells import Adopted
from parquetry.adoption.compare import ChangedPartition, Changes, Difference, RemovedFilesFilter
from parquetry.adoption.discover import NOT_READ, DiscoveredPartition, Unfit
from parquetry.adoption.footers import NewFooters, ReadFooters, read_again
from parquetry.adoption.table_diff import diff_table, zone_of
from parquetry.compaction import partition_condition
from parquetry.data_files import FileRecord, FooterReader
from parquetry.errors import CommitConflictError
from parquetry.locations import join_location, join_relative, path_below, path_within
from parquetry.metastore import TableSnapshot, Transaction, commit, require_files, row_sum
from parquetry.predicate import Filter
from parquetry.progress import Progress, silent, track
from parquetry.types import Value

_MAX_COMMIT_ATTEMPTS = 5
"""How often a sync starts again because others have changed the table meanwhile."""


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """The options of a sync.

    Attributes:
        where: a filter on partition columns that selects partitions.
        dry_run: report the differences, and change nothing.
        add: adopt new and changed files.
        drop: drop partitions whose files do not exist any more.
        readopt: adopt files again that a version removed on purpose.
        buckets: check files again whose buckets were refused before.
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

    If others change the table meanwhile, the sync starts again. Two syncs that adopt one file at once both
    succeed, and the file is listed once.

    Args:
        snapshot: the table as it is.
        footers: reads the footers of new files.
        options: which partitions, and which differences to adopt.
        progress: called while files are listed or read.

    Returns:
        The report: each partition that differs, and each file or directory that is ignored.

    Raises:
        FilterError: the filter cannot be used.
        FileMissingError: the table's location does not exist.
        CommitConflictError: other writers changed one of these partitions each time, or a vacuum is deleting
            files.
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
    """One sync with its options; see `synchronise`."""

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
        if condition is None:  # otherwise some folders were not listed
            transaction.record_removed_files(dict.fromkeys(passing.stale()))
        adopted_locations = _locations(snapshot, changes)
        transaction.requirements.adopt(
            lambda: require_files(snapshot.label, adopted_locations, snapshot.metadata.location)
        )
        differences: list[Difference] = []
        if self.options.add:
            footers = NewFooters(self.footers, snapshot.metadata, _new_files(changes))
            for folder in track(self.progress, "Reading new partitions", changes.added):
                differences += self._add_partition(transaction, footers, folder, unfit)
            for change in track(self.progress, "Reading changed partitions", changes.changed):
                differences += self._replace_files(transaction, footers, change, unfit)
        if self.options.add and self.options.buckets:
            differences += look_again(transaction, condition)
        if self.options.add:
            differences += read_again(transaction, self.footers, condition, self.progress)
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

    def _add_partition(
        self,
        transaction: Transaction,
        footers: NewFooters,
        folder: DiscoveredPartition,
        unfit: list[Unfit],
    ) -> Iterator[Difference]:
        """Make the transaction add a partition, with the files in its folder."""
        snapshot = transaction.base
        metadata, path = snapshot.metadata, folder.relative_path
        read = footers.read_next()
        location = join_location(metadata.location, path)
        adopted, report = adopt_files(snapshot, folder.values, location, read.files, metadata.arrangement)
        default_path = path_below(metadata.location, snapshot.placement.default_location(folder.values))
        own_location = location if path and path != default_path else None
        transaction.add(folder.values, own_location, adopted.files, adopted.arrangement)
        yield _partition_difference(snapshot, "added", folder.values, adopted.files)
        yield from _report_footers(snapshot, folder, read)
        yield from _report_doubted(snapshot, folder, adopted, unfit)
        yield from report

    def _replace_files(
        self, transaction: Transaction, footers: NewFooters, change: ChangedPartition, unfit: list[Unfit]
    ) -> Iterator[Difference]:
        """Make the transaction replace a partition's files by the unchanged files and the newly read ones."""
        snapshot, values = transaction.base, change.partition.values
        known = snapshot.partition(values)
        assert known is not None  # `compare` has it from the known partitions
        read = footers.read_next()
        read_paths = {file.path for file in read.files}
        broken = {file.path for file in change.added} - read_paths
        # a listed file that is broken now stays listed: queries fail, and do not silently lose its rows
        deleted = [path for path in change.deleted if path not in broken]
        dropped = {*deleted, *read_paths}
        kept = [file for file in known.files if path_within(known.location, file.path) not in dropped]
        adopted, report = adopt_files(snapshot, values, known.location, read.files, known.arrangement, kept)
        if adopted.files or deleted:
            files = [*adopted.before, *adopted.files]
            transaction.replace(values, files, known.entry.location, adopted.arrangement)
            detail = f"{len(adopted.files)} read, {len(deleted)} gone"
            yield _partition_difference(snapshot, "changed", values, files, detail)
        yield from _report_footers(snapshot, change.partition, read)
        yield from _report_doubted(snapshot, change.partition, adopted, unfit)
        yield from report

    def _drop_partition(self, transaction: Transaction, values: tuple[Value, ...]) -> Difference:
        """Make the transaction drop a partition whose files do not exist any more, if the options say so."""
        snapshot = transaction.base
        known = snapshot.partition(values)
        files = list(known.files) if known is not None else []
        if self.options.drop:
            transaction.drop(values)
        kept = "kept: MSCK REPAIR TABLE … SYNC PARTITIONS or CALL system.sync takes it out"
        return _partition_difference(snapshot, "gone", values, files, None if self.options.drop else kept)


def _new_files(changes: Changes) -> Iterator[tuple[DiscoveredPartition, list[str]]]:
    """Yield the partitions that are added or changed, with the paths of their new files."""
    for added in changes.added:
        yield added, [file.path for file in added.files]
    for change in changes.changed:
        yield change.partition, [file.path for file in change.added]


def _report_footers(
    snapshot: TableSnapshot, folder: DiscoveredPartition, read: ReadFooters
) -> Iterator[Difference]:
    """Report broken and encrypted files, and unfit columns."""
    name = snapshot.describe(snapshot.key_of(folder.values)) if folder.values else None
    for reason in read.broken.values():
        yield Difference("broken", name, detail=reason)
    for path in sorted(read.encrypted):
        detail = (
            f"{join_relative(folder.relative_path, path)}: the file, or columns of it, are encrypted. It is listed without their "
            "statistics, and a session reads it if it has the keys (parquet.crypto.factory.class)."
        )
        yield Difference("encrypted", name, detail=detail)
    for path in sorted(read.unfit):
        for sentence in read.unfit[path]:
            yield Difference(
                "unfit", name, detail=f"{join_relative(folder.relative_path, path)}: {sentence}."
            )


def _locations(snapshot: TableSnapshot, changes: Changes) -> list[str]:
    """Return the locations of the files to adopt."""
    folders = [*changes.added, *(change.partition for change in changes.changed)]
    return [
        join_location(join_location(snapshot.metadata.location, folder.relative_path), file.path)
        for folder in folders
        for file in folder.files
    ]


def _report_doubted(
    snapshot: TableSnapshot, folder: DiscoveredPartition, adopted: Adopted, unfit: list[Unfit]
) -> Iterator[Difference]:
    """Report directories that are not adopted, and files that contradict the names of their directories."""
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
