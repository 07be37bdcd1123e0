"""Assign files that others wrote to the buckets of a table's partitions, as far as names and rows prove them.

Names state a bucket, and rows have to confirm it. Files without a bucket are reported.

A wrong bucket would lose rows. So a partition's files are accepted only together: if one name states no
bucket, or one row belongs in another bucket, then all of them are refused.

| files of a partition with 4 buckets             | are read as                                   |
|-------------------------------------------------|-----------------------------------------------|
| 000000_0, 000003_0, 000003_0_copy_1, 000001_1   | buckets 0, 3, 3, 1; a bucket may have no file |
| part-00000-<uuid>_00002.c000.snappy.parquet     | bucket 2                                      |
| 000000_0, part-00000-<uuid>.c000.snappy.parquet | not bucketed: a name states no bucket         |
| 000000_0, 000004_0                              | not bucketed: there is no bucket 4            |
| 000001_0, but its row k = 5 belongs in bucket 3 | not bucketed                                  |

Equal values of some types may be in different buckets, depending on the writer (`hashing.hash_types`). For
these, rows prove nothing and are not read. The names alone count, and the partition's record says so
(`BucketSpec.unsettled`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import msgspec

from parquetry.adoption.cells import Adopted, adopt
from parquetry.adoption.compare import Difference
from parquetry.config import BUCKETING_VERSION
from parquetry.data_files import FileRecord, TableColumn
from parquetry.definition import bucket_begin
from parquetry.errors import ParquetryError
from parquetry.hashing import unsettled_reason
from parquetry.layout import ArrangementSpec, BucketSpec, Version
from parquetry.locations import (
    bucket_from_name,
    current_file_systems,
    join_location,
    join_relative,
    path_within,
    set_file_systems,
)
from parquetry.metastore import TableSnapshot, Transaction, row_sum
from parquetry.predicate import Filter, KnownValues, Match, match
from parquetry.texts import quantity
from parquetry.types import Value
from parquetry.verification import BucketCheck, check_buckets, lacks_tuples


def adopt_files(
    snapshot: TableSnapshot,
    values: tuple[Value, ...],
    location: str,
    files: Sequence[FileRecord],
    own: ArrangementSpec,
    before: Sequence[FileRecord] = (),
) -> tuple[Adopted, list[Difference]]:
    """Return a partition's new files with their cells and buckets, and the partition's arrangement with them.

    Args:
        snapshot: of the table.
        values: of the partition.
        location: of the partition.
        files: the new files, with statistics, their paths below the partition.
        own: how the partition is arranged, or would be.
        before: the partition's other files.

    Returns:
        The files, and a report if they are not in the buckets that they should be in.
    """
    metadata = snapshot.metadata
    lacks = lacks_tuples(location, metadata.format)
    adopted = adopt(files, metadata.data_columns, own, lacks, before)
    specs = [own.buckets]
    if not before:  # the writer that replaced all files may have used the table's current arrangement
        specs.append(metadata.arrangement.buckets)
    bucketed = _assign_buckets(snapshot, values, location, adopted, specs)
    arrangement = msgspec.structs.replace(adopted.arrangement, buckets=bucketed.buckets)
    report = list(_report_unbucketed(snapshot, values, location, bucketed))
    return replace(adopted, files=bucketed.files, arrangement=arrangement), report


def _assign_buckets(
    snapshot: TableSnapshot,
    values: tuple[Value, ...],
    location: str,
    adopted: Adopted,
    specs: Sequence[BucketSpec | None],
) -> Bucketed:
    """Return the new files of a partition with their buckets.

    Args:
        snapshot: of the table.
        values: of the partition.
        location: of the partition.
        adopted: its new and its older files.
        specs: the buckets that it may have; see `assign_buckets`.
    """
    metadata = snapshot.metadata
    begin = bucket_begin(metadata.properties, metadata.types_of_partitions)
    if begin is not None and not _holds(begin, snapshot, values):
        return Bucketed(adopted.files, specs[0] if adopted.before else None)
    return assign_buckets(
        location, metadata.format, adopted.files, metadata.data_columns, specs, adopted.before
    )


def _report_unbucketed(
    snapshot: TableSnapshot, values: tuple[Value, ...], location: str, bucketed: Bucketed
) -> Iterator[Difference]:
    """Report a partition whose files are not in the buckets that it should have."""
    if bucketed.refused is None:
        return
    consequence = (
        "The partition is read as not bucketed; CALL system.rebucket puts its rows into buckets."
        if bucketed.buckets is None
        else "The new files are read as of no bucket; CALL system.compact puts their rows into buckets."
    )
    base = snapshot.metadata.location
    below = "" if location.rstrip("/") == base.rstrip("/") else path_within(base, location)
    detail = f"{join_relative(below, bucketed.refused)}. {consequence}"
    yield Difference("ignored", _name(snapshot, values), detail=detail)


def look_again(transaction: Transaction, condition: Filter | None) -> Iterator[Difference]:
    """Make a transaction put partitions into buckets if their files were refused before and fit now.

    A declaration of the table may have been wrong at first, such as the version of the hash.

    Args:
        transaction: skips partitions that it changes otherwise.
        condition: selects partitions, or None for all.
    """
    snapshot = transaction.base
    spec = snapshot.metadata.arrangement.buckets
    for partition in snapshot.partitions() if spec is not None else ():
        arrangement, values = partition.arrangement, partition.values
        if arrangement.buckets is not None or partition.key in transaction.changes:
            continue
        if condition is not None and not _holds(condition, snapshot, values):
            continue
        files = partition.files
        if not files or any(bucket_from_name(file.path) is None for file in files):
            continue
        adopted = Adopted(list(files), [], arrangement, [], [])
        bucketed = _assign_buckets(snapshot, values, partition.location, adopted, [spec])
        if bucketed.buckets is not None:
            now = msgspec.structs.replace(arrangement, buckets=bucketed.buckets)
            transaction.replace(values, bucketed.files, partition.entry.location, now)
            size = sum(file.bytes for file in files)
            detail = f"in {quantity(bucketed.buckets.count, 'bucket')}"
            yield Difference("changed", _name(snapshot, values), len(files), row_sum(files), size, detail)
        yield from _report_unbucketed(snapshot, values, partition.location, bucketed)


def _holds(condition: Filter, snapshot: TableSnapshot, values: tuple[Value, ...]) -> bool:
    """Return whether a partition satisfies a condition."""
    answers = match(condition, KnownValues(snapshot.metadata.partition_by, [values]))
    return bool(answers[0] == Match.MUST)


def _name(snapshot: TableSnapshot, values: tuple[Value, ...]) -> str | None:
    return snapshot.describe(snapshot.key_of(values)) if values else None


MAX_ROWS_READ_WHOLE = 1 << 22
"""Most rows of a file whose bucket and sort columns are read whole. Larger files: first and last rows."""
_ROWS_READ_FOR_HINT = 1 << 14
_MAX_READER_THREADS = 8
_HASH_VERSIONS: tuple[Version, ...] = (1, 2, "spark")


@dataclass(frozen=True, slots=True)
class Bucketed:
    """The new files of a partition after the check of their buckets.

    Attributes:
        files: with their buckets, if they are in buckets.
        buckets: of the partition, or None if it has none.
        refused: why it has none, in a sentence about one of the files; or None if it has some, or may have
            none.
    """

    files: list[FileRecord]
    buckets: BucketSpec | None
    refused: str | None = None


def assign_buckets(
    location: str,
    file_format: str,
    files: Sequence[FileRecord],
    columns: Sequence[TableColumn],
    specs: Sequence[BucketSpec | None],
    before: Sequence[FileRecord] = (),
    *,
    most: int = MAX_ROWS_READ_WHOLE,
) -> Bucketed:
    """Find the buckets of a partition's new files.

    Args:
        location: of the partition.
        file_format: ``parquet`` or ``orc``.
        files: their paths below the partition, or absolute.
        columns: of the table, all that are in files.
        specs: the buckets that they may have. The first that fits is taken.
        before: the partition's other files. If it has some, `specs` has only its own buckets, and it keeps
            them.
        most: rows to read in a file that has more.
    """
    usable = list(dict.fromkeys(spec for spec in specs if spec is not None))
    if not usable or not files:
        return Bucketed(list(files), usable[0] if usable else None)
    refused = None
    for spec in usable:
        settled = not spec.unsettled and any(file.bucket is not None for file in before)
        outcome = _assign_buckets_of_spec(spec, location, file_format, files, columns, settled, most)
        if not isinstance(outcome, str):
            return outcome
        refused = outcome
    return Bucketed(list(files), usable[0] if before else None, refused)


def _assign_buckets_of_spec(
    spec: BucketSpec,
    location: str,
    file_format: str,
    files: Sequence[FileRecord],
    columns: Sequence[TableColumn],
    settled: bool,
    most: int,
) -> Bucketed | str:
    """Return the files with their buckets of one spec, or why they do not fit it.

    Args:
        settled: whether the partition has bucketed files, and their equal values are certainly in one bucket.
            Files without this certainty cannot join them.
    """
    buckets = {file.path: bucket_from_name(file.path) for file in files}
    for path, bucket in buckets.items():
        if bucket is None or bucket >= spec.count:
            says = "no bucket" if bucket is None else f"bucket {bucket}, and there are {spec.count}"
            return f"{path}: the name says {says}"
    physical = {column.physical: column.column_type for column in columns}
    reason = unsettled_reason(spec.version, [physical[name] for name in spec.columns])
    if reason is not None and settled:
        return f"{files[0].path}: {reason}"
    if reason is not None:
        names_alone = [msgspec.structs.replace(file, bucket=buckets[file.path]) for file in files]
        return Bucketed(names_alone, msgspec.structs.replace(spec, unsettled=True))
    checks = _check_all(location, file_format, files, columns, spec, most)
    bucketed_files = []
    for file, check in zip(files, checks, strict=True):
        if isinstance(check, str):
            return f"{file.path}: {check}"
        if check.wrong:
            return _describe_misplaced(
                file, check, _fitting_version(location, file_format, files, columns, spec)
            )
        in_order = check.sorted is True
        bucketed_files.append(msgspec.structs.replace(file, bucket=buckets[file.path], sorted=in_order))
    return Bucketed(bucketed_files, msgspec.structs.replace(spec, unsettled=False))


def _check_all(
    location: str,
    file_format: str,
    files: Sequence[FileRecord],
    columns: Sequence[TableColumn],
    spec: BucketSpec,
    most: int,
) -> list[BucketCheck | str]:
    """Return the result for each file, or why it could not be checked."""

    def check_file(file: FileRecord) -> BucketCheck | str:
        path, bucket = join_location(location, file.path), bucket_from_name(file.path)
        if bucket is None:
            return "the name says no bucket"
        try:
            return check_buckets(path, file_format, bucket, spec, columns, most=most, old_days=True)
        except ParquetryError as error:
            return error.message.rstrip(".")

    with ThreadPoolExecutor(
        min(_MAX_READER_THREADS, len(files)),
        initializer=set_file_systems,
        initargs=(current_file_systems(),),
    ) as pool:
        return list(pool.map(check_file, files))


def _describe_misplaced(file: FileRecord, check: BucketCheck, fitting_version: Version | None) -> str:
    text = f"{file.path}: {check.example}"
    if check.wrong > 1:
        text += f", and {check.wrong - 1} more of the {check.rows} rows read are in the wrong bucket"
    if fitting_version is None:
        return text
    return (
        f"{text}. By version {fitting_version} of the hash all are in the right one: set the table property {BUCKETING_VERSION!r} to "
        f"{str(fitting_version)!r} and run sync with buckets => true"
    )


def _fitting_version(
    location: str,
    file_format: str,
    files: Sequence[FileRecord],
    columns: Sequence[TableColumn],
    spec: BucketSpec,
) -> Version | None:
    """Return another version of the hash that fits all rows of the files, if there is one."""
    for version in _HASH_VERSIONS:
        candidate = msgspec.structs.replace(spec, version=version, sort=())
        checks = _check_all(location, file_format, files, columns, candidate, _ROWS_READ_FOR_HINT)
        rows = sum(0 if isinstance(check, str) else check.rows for check in checks)
        if rows > 1 and not any(isinstance(check, str) or check.wrong for check in checks):
            return version
    return None
