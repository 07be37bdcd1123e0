"""Group a scan's remaining partitions by the records of one part of their arrangements.

A table of a million partitions has a handful of different records, so each record is decoded and judged once.
If all partitions have the table's own arrangement, no record is decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from parquetry.config import BUCKET_BEGIN_PARTITION
from parquetry.data_files import Numbers
from parquetry.definition import bucket_begin
from parquetry.errors import PropertyError
from parquetry.layout import ArrangementPart, ArrangementSpec, BucketSpec, SkewMap
from parquetry.metastore import PartitionSnapshot, TableMetadata, TableSnapshot, decode_arrangement
from parquetry.predicate import KnownValues, Match, match

T = TypeVar("T", bound=ArrangementPart)


class ArrangementRecords(NamedTuple, Generic[T]):
    """The distinct records of some partitions, and each partition's record number, or -1 for none."""

    distinct: list[T]
    numbers: Numbers


def skew_maps(
    snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot]
) -> ArrangementRecords[SkewMap] | None:
    """Return the maps of partitions with directories for skewed values, or None if the table has none."""

    def directories(arrangement: ArrangementSpec) -> SkewMap | None:
        skew = arrangement.skew
        return skew if skew is not None and skew.directories else None

    return arrangement_records(snapshot, partitions, directories)


def may_have_directories(snapshot: TableSnapshot) -> bool:
    """Return whether some partition may have directories for its slots, without reading any partition."""
    if not snapshot.totals.arrangements:
        return False
    own = snapshot.metadata.arrangement
    return any(part.directories for part in own.parts) or not snapshot.totals.all_arranged(own)


def bucket_specs(
    snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot], *, unsettled: bool = False
) -> ArrangementRecords[BucketSpec] | None:
    """Return the buckets of partitions, or None if the table has no buckets.

    A table property may name the first partition that is bucketed. Earlier partitions count as not bucketed.

    Args:
        snapshot: the version of the table.
        partitions: partitions of that version.
        unsettled: whether to include records whose hash is not portable: equal values may be in different
            buckets, so no bucket may be skipped by them.
    """

    def counting(arrangement: ArrangementSpec) -> BucketSpec | None:
        buckets = arrangement.buckets
        return buckets if buckets is not None and (unsettled or not buckets.unsettled) else None

    records = arrangement_records(snapshot, partitions, counting)
    if records is None or BUCKET_BEGIN_PARTITION not in snapshot.metadata.properties:
        return records
    return ArrangementRecords(
        records.distinct, np.where(_begun(snapshot.metadata, partitions), records.numbers, -1)
    )


def _begun(metadata: TableMetadata, partitions: Sequence[PartitionSnapshot]) -> NDArray[np.bool_]:
    """Return the partitions that the table's property says are bucketed; none if it is invalid."""
    try:
        begin = bucket_begin(metadata.properties, metadata.types_of_partitions)
    except PropertyError:  # the query continues without buckets; setting the property raises the error
        return np.zeros(len(partitions), np.bool_)
    if begin is None:
        return np.ones(len(partitions), np.bool_)
    values = KnownValues(metadata.partition_by, PartitionSnapshot.all_values(partitions))
    in_buckets: NDArray[np.bool_] = match(begin, values) == Match.MUST
    return in_buckets


def arrangement_records(
    snapshot: TableSnapshot,
    partitions: Sequence[PartitionSnapshot],
    pick: Callable[[ArrangementSpec], T | None],
) -> ArrangementRecords[T] | None:
    """Return the records of a part, or None if the table has none.

    Args:
        snapshot: the version of the table.
        partitions: partitions of that version.
        pick: returns the part of an arrangement, or None if it has none that counts.
    """
    if not snapshot.totals.arrangements:
        return None
    tables = pick(snapshot.metadata.arrangement)
    if snapshot.totals.all_arranged(snapshot.metadata.arrangement):
        return None if tables is None else ArrangementRecords([tables], np.zeros(len(partitions), np.int64))
    numbers: dict[bytes, int] = {}
    distinct: list[T] = []
    of = []
    for entry in PartitionSnapshot.entries(partitions):
        coded = bytes(entry.arrangement)
        if coded not in numbers:
            part = pick(decode_arrangement(entry.arrangement))
            numbers[coded] = -1
            if part is not None:
                numbers[coded] = len(distinct)
                distinct.append(part)
        of.append(numbers[coded])
    return ArrangementRecords(distinct, np.array(of, np.int64)) if distinct or tables is not None else None
