"""Read all rows of a table's buckets, and report the files with rows in a wrong bucket or out of order.

Joins without a shuffle, and queries that read one bucket, rely on correct buckets. Parquetry's own writer
ensures them. `sync` has checked some rows of other writers' files. This module reads the bucket and sort
columns of all files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Literal

import msgspec

from parquetry.compaction import partition_condition
from parquetry.data_files import FileRecord, IdsInFile, TableColumn
from parquetry.definition import bucket_begin
from parquetry.errors import FileCorruptError, FileMissingError, UnsupportedError
from parquetry.hashing import unsettled_reason
from parquetry.layout import BucketSpec
from parquetry.locations import current_file_systems, join_location, set_file_systems
from parquetry.metastore import PartitionSnapshot, TableSnapshot, row_sum
from parquetry.predicate import Filter, KnownValues, Match, match
from parquetry.progress import Progress, silent, track
from parquetry.texts import quantity
from parquetry.verification.bucket_check import check_buckets

Problem = Literal["wrong bucket", "out of order", "unreadable", "no bucket", "not judged"]


_MAX_READER_THREADS = 8
_FILES_PER_BATCH = 256
"""Files that are read before their results are passed on."""


def verify(
    snapshot: TableSnapshot, where: str | None = None, *, zone: str = "UTC", progress: Progress = silent
) -> Iterator[Misplacement]:
    """Yield the misplaced rows of a table's buckets by file, in the order of its partitions.

    Partitions without buckets are not read. They are reported if the table has buckets.

    Args:
        snapshot: the table.
        where: a condition on partition columns that selects partitions.
        zone: the time zone for timestamps without one in the condition.
        progress: called with the number of partitions that have been read, and of all.

    Raises:
        FilterError: the condition cannot be used.
    """
    return _misplacements(snapshot, _choose_partitions(snapshot, where, zone), progress)


def _choose_partitions(snapshot: TableSnapshot, where: str | None, zone: str) -> list[PartitionSnapshot]:
    every = list(snapshot.partitions())
    if where is None:
        return every
    condition = partition_condition(snapshot, where, zone)
    known = KnownValues(snapshot.metadata.partition_by, [partition.values for partition in every])
    answers = match(condition, known) == Match.MUST
    return [partition for partition, wanted in zip(every, answers, strict=True) if wanted]


def _misplacements(
    snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot], progress: Progress
) -> Iterator[Misplacement]:
    metadata = snapshot.metadata
    tables = metadata.arrangement.buckets
    begin = bucket_begin(metadata.properties, metadata.types_of_partitions)
    with ThreadPoolExecutor(
        max_workers=_MAX_READER_THREADS, initializer=set_file_systems, initargs=(current_file_systems(),)
    ) as pool:
        for partition in track(progress, "Reading partitions", partitions):
            spec = partition.arrangement.buckets
            if spec is not None:
                yield from _check_partition(snapshot, partition, spec, pool)
            elif tables is not None and partition.file_count and _has_begun(begin, snapshot, partition):
                detail = "The partition is not in buckets, and the table is. CALL system.rebucket puts its rows into them."
                name = snapshot.describe(partition.key) if partition.values else None
                yield Misplacement("no bucket", name, None, None, partition.rows, detail)


def _has_begun(begin: Filter | None, snapshot: TableSnapshot, partition: PartitionSnapshot) -> bool:
    """Return whether the table's properties say that a partition is bucketed."""
    if begin is None:
        return True
    known = KnownValues(snapshot.metadata.partition_by, [partition.values])
    return bool(match(begin, known)[0] == Match.MUST)


def _check_partition(
    snapshot: TableSnapshot, partition: PartitionSnapshot, spec: BucketSpec, pool: ThreadPoolExecutor
) -> Iterator[Misplacement]:
    name = snapshot.describe(partition.key) if partition.values else None
    columns = snapshot.metadata.data_columns
    if spec.unsettled:
        physical = {column.physical: column.column_type for column in columns}
        reason = (
            unsettled_reason(spec.version, [physical[column] for column in spec.columns])
            or "others wrote the files"
        )
        yield Misplacement("not judged", name, None, None, partition.rows, f"{reason}.")
        return
    strays: list[FileRecord] = []

    def check_file(file: FileRecord) -> list[Misplacement]:
        return _check_file(name, partition.location, snapshot.metadata.format, file, spec, columns)

    files = partition.each_file()
    while some := list(islice(files, _FILES_PER_BATCH)):
        strays += (file for file in some if file.bucket is None)
        for misplacements in pool.map(check_file, some):
            yield from misplacements
    if strays:
        few = f"{strays[0].path}{f' and {len(strays) - 1} more' if len(strays) > 1 else ''}"
        remedy = "CALL system.compact puts their rows into buckets."
        yield Misplacement("no bucket", name, None, None, row_sum(strays), f"{few}. {remedy}")


def _check_file(
    partition: str | None,
    location: str,
    file_format: str,
    file: FileRecord,
    spec: BucketSpec,
    columns: Sequence[TableColumn],
) -> list[Misplacement]:
    if file.bucket is None:
        return []
    wanted = spec if file.sorted else msgspec.structs.replace(spec, sort=())
    path, old_days = join_location(location, file.path), file.field_ids == IdsInFile.OLD_CALENDAR
    try:
        check = check_buckets(path, file_format, file.bucket, wanted, columns, old_days=old_days)
    except UnsupportedError as error:
        return [Misplacement("not judged", partition, file.path, file.bucket, file.rows, error.message)]
    except (FileMissingError, FileCorruptError) as error:
        return [Misplacement("unreadable", partition, file.path, file.bucket, file.rows, error.message)]
    misplacements = []
    if check.wrong:
        detail = f"{check.example}, of {quantity(check.rows, 'row')}."
        misplacements.append(
            Misplacement("wrong bucket", partition, file.path, file.bucket, check.wrong, detail)
        )
    if check.unsorted is not None:
        misplacements.append(
            Misplacement("out of order", partition, file.path, file.bucket, None, f"{check.unsorted}.")
        )
    return misplacements


@dataclass(frozen=True, slots=True)
class Misplacement:
    """A file that `verify` has found: its rows are not arranged as its table says, or it cannot be known.

    Attributes:
        problem: ``wrong bucket``: some rows belong to another bucket. ``out of order``: the rows are not
            sorted. ``unreadable``: the file is missing or damaged. ``no bucket``: the bucket of some files is
            not known, and every query reads them. ``not judged``: equal values may be in different buckets,
            or the file does not define its values, so the rows are not checked.
        partition: such as ``d=1/s=a``, or None if the table has no partitions.
        path: the file's path below its partition, or None if the finding is about several files.
        bucket: the file's bucket.
        rows: the number of rows in the wrong bucket, or in files without a bucket, or None if they were not
            counted.
        detail: an example, or a reason.
    """

    problem: Problem
    partition: str | None
    path: str | None
    bucket: Annotated[int | None, "integer"]
    rows: int | None
    detail: str

    @property
    def is_wrong(self) -> bool:
        """Return whether a query may give a wrong answer, or fail."""
        return self.problem in ("wrong bucket", "out of order", "unreadable")
