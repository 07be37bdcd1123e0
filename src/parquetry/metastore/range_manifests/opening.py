"""Opening a version by range manifests: which ranges are read in columns, and which by rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from parquetry.metastore.manifest.inline import decode_files
from parquetry.metastore.range_manifests.records import decode_state, read_list
from parquetry.metastore.range_manifests.view import KeyRange, RangedPartitions, read_range
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.scan import ScanPlan
from parquetry.store import Range

_MAX_KEY_RANGES = 64
"""Ranges of keys of a plan; one with more reads partitions from all over, mostly one by one."""
_MAX_STALE = 0.5
"""Part of the partitions in stale ranges beyond which all partitions are read by their own rows."""


def different_ranges(ranged: RangedPartitions) -> Iterator[bytes]:
    """Yield the first key of each range whose rows are not what its partitions' own rows say."""
    for each in ranged.in_columns():
        own = read_range(ranged.snapshot, each.manifest.start, each.stop)
        listed = ranged.decode(each)
        if own and listed is not None:
            keys, files = listed
            entries = PartitionSnapshot.entries(own)  # none has chunks, as its range is in columns
            records = list(decode_files([entry.inline for entry in entries]).records())
            if keys != [(partition.key, partition.ticket) for partition in own] or files != records:
                yield own[0].key


def open_ranges(snapshot: TableSnapshot, plan: ScanPlan | None = None) -> RangedPartitions | None:
    """Return the partitions of a version by its range manifests, or None if they do not help.

    Args:
        snapshot: the version.
        plan: selects the partitions; None selects all.

    Raises:
        TableNotFoundError: the table was dropped, or a vacuum retired this version.
    """
    wanted = _key_ranges(plan)
    state = decode_state(snapshot.ranges)
    if wanted is None or state is None or state.version > snapshot.version:
        return None
    manifests = read_list(snapshot.store, snapshot.id, state.id)
    if not manifests:
        return None
    stale = state.flags(len(manifests)) | np.array([not each.has_rows for each in manifests], np.bool_)
    stops = [*(each.start for each in manifests[1:]), None]
    ranges: list[KeyRange] = []
    of, in_columns = 0, 0
    for number, (each, stop, changed) in enumerate(zip(manifests, stops, stale.tolist(), strict=True)):
        parts = _intersect((each.start, stop), wanted)
        of += each.partitions if parts else 0
        if parts == [(each.start, stop)] and not changed:
            in_columns += each.partitions
            ranges.append(KeyRange(0, number, each, stop))
        elif parts:
            ranges.append(KeyRange(0, number, each, stop, rows=parts))
    added = max(0, snapshot.totals.partitions - sum(each.partitions for each in manifests))
    of += added if plan is None else 0
    if not in_columns or of - in_columns > _MAX_STALE * of:
        return None
    for range in ranges:
        if range.rows is not None:
            range.partitions = [p for part in range.rows for p in read_range(snapshot, *part)]
    counts = [range.count for range in ranges]
    for range, first in zip(ranges, accumulate(counts, initial=0), strict=False):
        range.first = first
    snapshot.check_kept()
    if plan is None and sum(counts) != snapshot.totals.partitions:
        return None  # a list that does not add up is not used: no answer may depend on it
    return RangedPartitions(snapshot, ranges, state.id, len(manifests), plan)


def _key_ranges(plan: ScanPlan | None) -> list[Range] | None:
    """Return the ranges of keys of a plan, in order, or None if ranges of its own keys do not decide it."""
    if plan is None:
        return [(b"", None)]
    if plan.index is not None or plan.by_indexes or not plan.exact:
        return None
    if len(plan.scans) > _MAX_KEY_RANGES or any(scan.residual is not None for scan in plan.scans):
        return None
    return [(scan.start, scan.stop) for scan in plan.scans]


def _intersect(range: Range, others: Sequence[Range]) -> list[Range]:
    """Return the parts of a range of keys that are in one of some others."""
    start, stop = range
    parts: list[Range] = []
    for first, end in others:
        low = max(start, first)
        high = end if stop is None else stop if end is None else min(stop, end)
        if high is None or low < high:
            parts.append((low, high))
    return parts
