"""How the partitions that a scan is left with are arranged: each record once, and which partition has which.

A table of a million partitions has a handful of different records, so that what follows from one is found out once. Where
all partitions are arranged as the table is, none of their records is decoded for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from parquetry.config import BUCKET_BEGIN_PARTITION
from parquetry.data_files import Numbers
from parquetry.definition.bucket_begin import bucket_begin
from parquetry.errors import PropertyError
from parquetry.layout import ArrangementSpec, BucketSpec, SkewMap
from parquetry.metastore.storage import TableMetadata, decode_arrangement
from parquetry.metastore.versions import PartitionSnapshot, TableSnapshot
from parquetry.predicate.pruning import KnownValues, Match
from parquetry.predicate.pruning.match import match

T = TypeVar("T", SkewMap, BucketSpec)


class ArrangementRecords(NamedTuple, Generic[T]):
    """What some partitions have of one kind: each record once, and of each partition the number of its own; -1: none."""

    distinct: list[T]
    numbers: Numbers


def skew_maps(
    snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot]
) -> ArrangementRecords[SkewMap] | None:
    """Return the maps of partitions that have directories for heavy values; None: the table has none at all."""

    def directories(arrangement: ArrangementSpec) -> SkewMap | None:
        skew = arrangement.skew
        return skew if skew is not None and skew.directories else None

    return _records(snapshot, partitions, directories)


def may_have_directories(snapshot: TableSnapshot) -> bool:
    """Return whether some partition may have directories for heavy values, without a look at any."""
    if not snapshot.totals.arrangements:
        return False
    skew = snapshot.metadata.arrangement.skew
    return (skew is not None and skew.directories) or not snapshot.totals.all_arranged(
        snapshot.metadata.arrangement
    )


def bucket_specs(
    snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot], *, unsettled: bool = False
) -> ArrangementRecords[BucketSpec] | None:
    """Return the buckets of partitions; None: the table has none at all.

    Those of partitions before the one from which on the table says that its files lie in buckets count as none.

    Args:
        snapshot: the version of the table.
        partitions: of it.
        unsettled: whether records count of which equal values may lie in different buckets. By them nothing may be skipped.
    """

    def counting(arrangement: ArrangementSpec) -> BucketSpec | None:
        buckets = arrangement.buckets
        return buckets if buckets is not None and (unsettled or not buckets.unsettled) else None

    records = _records(snapshot, partitions, counting)
    if records is None or BUCKET_BEGIN_PARTITION not in snapshot.metadata.properties:
        return records
    return ArrangementRecords(
        records.distinct, np.where(_begun(snapshot.metadata, partitions), records.numbers, -1)
    )


def _begun(metadata: TableMetadata, partitions: Sequence[PartitionSnapshot]) -> NDArray[np.bool_]:
    """Return which partitions are of those that the table says are bucketed; none, if what it says cannot be read."""
    try:
        begin = bucket_begin(metadata.properties, metadata.types_of_partitions)
    except PropertyError:  # a query goes on without; whoever sets the property is told
        return np.zeros(len(partitions), np.bool_)
    if begin is None:
        return np.ones(len(partitions), np.bool_)
    values = KnownValues(metadata.partition_by, PartitionSnapshot.all_values(partitions))
    in_buckets: NDArray[np.bool_] = match(begin, values) == Match.MUST
    return in_buckets


def _records(
    snapshot: TableSnapshot,
    partitions: Sequence[PartitionSnapshot],
    pick: Callable[[ArrangementSpec], T | None],
) -> ArrangementRecords[T] | None:
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
