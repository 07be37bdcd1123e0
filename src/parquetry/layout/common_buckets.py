"""What is true of the buckets of all partitions that a scan reads, be they of different numbers of buckets.

A row whose hash is h lies in bucket h mod n of n, and so, for each divisor g of n, its bucket modulo g is h mod g: in a
partition of 4 buckets and one of 6, equal values meet in one of 2. Which buckets a query may skip is decided elsewhere
(`prune`), and how joins use them by Spark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from parquetry.layout.arrangement import BucketSpec, SortColumn


def common(specs: Sequence[BucketSpec]) -> BucketSpec | None:
    """Return the buckets that rows of all some partitions lie in; None: there are none.

    Their number is the greatest common divisor of the partitions' own, and they are sorted by what all of these begin with.

    Args:
        specs: of the partitions, each different one once.

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
    """Return what all sort orders begin with."""
    shared: list[SortColumn] = []
    for columns in zip(*orders, strict=False):
        if any(column != columns[0] for column in columns):
            break
        shared.append(columns[0])
    return tuple(shared)
