"""Assign files that others wrote to the buckets of a table's partitions, as far as names and rows prove them.

`adoption.bucket_names` has the proof. This module knows which buckets a partition may have, and reports files
without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from parquetry.adoption.bucket_names import Bucketed, assign_buckets
from parquetry.adoption.cells import Adopted, adopt
from parquetry.adoption.difference import Difference
from parquetry.data_files import FileRecord
from parquetry.definition.bucket_begin import bucket_begin
from parquetry.layout import ArrangementSpec, BucketSpec
from parquetry.locations import bucket_from_name, join_relative, path_within
from parquetry.metastore import TableSnapshot, Transaction, row_sum
from parquetry.predicate import Filter, KnownValues, Match, match
from parquetry.texts import quantity
from parquetry.types import Value
from parquetry.verification import lacks_tuples


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
        specs: the buckets that it may have; see `bucket_names.assign_buckets`.
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
