"""Choose the number of buckets for both sides of a join, where Spark does not solve it.

Spark itself folds the buckets of two sides to the greatest common divisor of their numbers: tables of 4 and
of 6 buckets are joined in 2. Three cases are ours:

- `bucket-join = larger`: tables of 3 and of 6 buckets are joined in 6. Each bucket of the table of 3 is read
  for two of the 6, and each time only the rows of one of these are passed on.
- The files are sorted: Spark puts folded buckets one after the other, and sorts them again. A scan that folds
  them itself merges their files.
- Spark cannot fold: not at all before 4.2, and buckets by several columns only to more buckets than columns
  (`bridge/hash/BucketKeys.scala`). So tables of 4 and of 6 buckets by two columns are both read as 2.
"""

from __future__ import annotations

import math

import msgspec


class BucketedScan(msgspec.Struct, frozen=True):
    """A scan whose rows are in buckets.

    Attributes:
        count: the number of buckets that Spark sees.
        held: the number of buckets that the files have.
        larger: whether a join with a table of more buckets uses the larger number.
        ordered: whether the files are sorted.
    """

    count: int
    held: int
    larger: bool
    ordered: bool = False


class BucketedJoin(msgspec.Struct, frozen=True):
    """A join by the bucket columns of both sides, with the same hash.

    Attributes:
        columns: the number of bucket columns.
        left: the positions of the left side's scans with this hash. The side's rows are in the buckets of the
            first, and scans with the same number of buckets are joined with it in these.
        right: the same for the right side.
    """

    columns: int
    left: list[int]
    right: list[int]


class BucketGraph(msgspec.Struct, frozen=True):
    """The joins of a plan by buckets.

    Attributes:
        scans: the scans that they read.
        joins: the joins, each after the joins below it.
        foldable: whether this version of Spark folds buckets.
    """

    scans: list[BucketedScan]
    joins: list[BucketedJoin]
    foldable: bool


def choose_bucket_counts(graph: BucketGraph) -> list[int]:
    """Return the number of buckets that each scan reports to Spark.

    >>> three, six = BucketedScan(3, 3, larger=True), BucketedScan(6, 6, larger=False)
    >>> choose_bucket_counts(BucketGraph([three, six], [BucketedJoin(1, [0], [1])], foldable=True))
    [6, 6]
    """
    counts = [scan.count for scan in graph.scans]
    for join in graph.joins:
        chosen = _common_count(graph, counts, join)
        if chosen is None:
            continue
        for side in (join.left, join.right):
            count = counts[side[0]]
            for scan in side:
                in_these = counts[scan] == count or counts[scan] % chosen == 0
                if in_these and can_read_as(graph.scans[scan].held, chosen):
                    counts[scan] = chosen
    return counts


def _common_count(graph: BucketGraph, counts: list[int], join: BucketedJoin) -> int | None:
    """Return the number of buckets for both sides of a join, or None if they keep their own."""
    few, many = sorted((counts[join.left[0]], counts[join.right[0]]))
    divisor = math.gcd(few, many)
    if few == many:
        return None
    if divisor == few and any(graph.scans[side[0]].larger for side in (join.left, join.right)):
        return many
    merges = any(
        graph.scans[scan].ordered and counts[scan] > divisor for scan in (join.left[0], join.right[0])
    )
    folds = graph.foldable and (join.columns == 1 or divisor > join.columns) and not merges
    return divisor if divisor > 1 and not folds else None


def can_read_as(count: int, wanted: int) -> bool:
    """Return whether files of a number of buckets can be read as another number of buckets.

    >>> can_read_as(4, 8), can_read_as(4, 2), can_read_as(4, 6)
    (True, True, False)
    """
    return wanted % count == 0 or count % wanted == 0
