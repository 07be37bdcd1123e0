"""Find the buckets that all partitions of a scan have in common, even if their numbers of buckets differ.

With n buckets, a row with hash h is in bucket h mod n. If g divides n, then this number modulo g is h mod g.
So with 4 buckets in one partition and 6 in another, equal values are in equal ones of 2 buckets.

`prune` decides which buckets a query skips. Spark decides how joins use them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from parquetry.layout.bucket_spec import BucketSpec
from parquetry.layout.part import SortColumn


def common(specs: Sequence[BucketSpec]) -> BucketSpec | None:
    """Return the buckets that all partitions have in common, or None if there are none.

    Their number is the greatest common divisor of the partitions' numbers. Their sort order is the longest
    common prefix of the partitions' sort orders.

    Args:
        specs: of the partitions, without repetition.

    >>> four, six = BucketSpec(("id",), 4), BucketSpec(("id",), 6)
    >>> common([four, six]).count
    2
    >>> common([four, BucketSpec(("id",), 9)]) is None
    True
    """
    if not specs or any(spec.unsettled for spec in specs):
        return None
    first = specs[0]
    if any((spec.columns, spec.version) != (first.columns, first.version) for spec in specs):
        return None
    count = math.gcd(*(spec.count for spec in specs))
    if count == 1 and any(spec.count > 1 for spec in specs):
        return None
    return BucketSpec(first.columns, count, first.version, _common_order([spec.sort for spec in specs]))


def _common_order(orders: Sequence[tuple[SortColumn, ...]]) -> tuple[SortColumn, ...]:
    """Return the longest common prefix of sort orders."""
    shared: list[SortColumn] = []
    for columns in zip(*orders, strict=False):
        if any(column != columns[0] for column in columns):
            break
        shared.append(columns[0])
    return tuple(shared)
