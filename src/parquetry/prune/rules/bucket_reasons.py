"""Report why joins cannot rely on the buckets of a scan.

The planner and Spark decide whether a scan is bucketed (`planner.scans.partitioning`). This module finds the
partitions or files that are not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import UNKNOWN
from parquetry.hashing import unsettled_reason
from parquetry.layout import BucketSpec
from parquetry.metastore import FileBlock, PartitionSnapshot, TableMetadata, TableSnapshot
from parquetry.prune.report.join import BucketReport
from parquetry.prune.rules.arrangements import bucket_specs
from parquetry.texts import quantity
from parquetry.types import type_text


def without_buckets(
    snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot], block: FileBlock, read: Collection[str]
) -> BucketReport | None:
    """Return the report of buckets that joins cannot rely on, or None if the table has no buckets.

    Args:
        snapshot: the version of the table.
        partitions: the selected partitions.
        block: the selected files.
        read: the columns to read.
    """
    specs = bucket_specs(snapshot, partitions, unsettled=True)
    used = np.unique(block.parts)
    numbers = np.full(len(used), -1, np.int64) if specs is None else specs.numbers[used]
    distinct = [] if specs is None else [specs.distinct[n] for n in np.unique(numbers[numbers >= 0]).tolist()]
    others = [snapshot.metadata.arrangement.buckets, *(() if specs is None else specs.distinct)]
    shown = next((spec for spec in (*distinct, *others) if spec is not None), None)
    if shown is None:
        return None

    def named(parts: NDArray[Any]) -> str:
        first = snapshot.describe(partitions[int(parts[0])].key)
        return (
            f"partition {first}"
            if len(parts) == 1
            else f"partition {first} and {quantity(len(parts) - 1, 'other')}"
        )

    columns = {column.physical: column for column in snapshot.metadata.columns}
    own = [columns[name] for name in shown.columns if name in columns]
    wanted = {name.lower() for name in read}
    unread = tuple(column.name for column in own if column.name.lower() not in wanted)
    without = used[numbers < 0]
    if len(without):
        reason = f"{named(without)} {'is' if len(without) == 1 else 'are'} not in buckets"
    else:
        reason = _differing(snapshot.metadata, distinct) or ""
    if not reason and unread:
        are = "column {} is" if len(unread) == 1 else "columns {} are"
        reason = f"the bucket {are.format(', '.join(unread))} not read"
    if not reason:
        arranged = block.files.arranged
        unknown = np.ones(block.count, np.bool_) if arranged is None else arranged[1] == UNKNOWN
        parts, count = np.unique(block.parts[unknown]), int(unknown.sum())
        which = "the bucket of a file is" if count == 1 else f"the buckets of {count:,} files are"
        reason = f"{which} not known, in {named(parts)}" if count else "not reported to Spark"
    return BucketReport(
        tuple(column.name for column in own),
        tuple(type_text(column.type) for column in own),
        str(shown.version),
        math.gcd(*(spec.count for spec in distinct or [shown])),
        reason,
        unread,
    )


def _differing(metadata: TableMetadata, specs: Sequence[BucketSpec]) -> str | None:
    """Return why some bucket records cannot be relied on, alone or together, or None if they can."""
    columns = {column.physical: column for column in metadata.columns}
    for spec in specs:
        if spec.unsettled:
            types = [columns[name].column_type for name in spec.columns if name in columns]
            why = unsettled_reason(spec.version, types) or "others wrote the files"
            return f"equal values may lie in different buckets: {why}"
    if len({spec.columns for spec in specs}) > 1:
        return "its partitions are in buckets by different columns"
    if len({spec.version for spec in specs}) > 1:
        return "its partitions are in buckets by different versions of the hash"
    counts = sorted({spec.count for spec in specs})
    if counts[1:] and math.gcd(*counts) == 1:
        return f"its partitions' numbers of buckets share no divisor: {', '.join(map(str, counts))}"
    return None
