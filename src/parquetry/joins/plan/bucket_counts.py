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
from collections.abc import Sequence

from parquetry.joins.plan.graph import GraphJoin, PlanGraph
from parquetry.joins.scans.buckets import can_read_as


def choose_bucket_counts(graph: PlanGraph, in_place: Sequence[int] = ()) -> list[int]:
    """Return the number of buckets that each scan reports to Spark.

    Args:
        graph: the joins of a plan.
        in_place: for each scan whether it is read in place, so that it reports nothing; none is by default.

    >>> from parquetry.joins.plan.graph import GraphScan, GraphSide
    >>> three, six = GraphScan(3, 3, larger=True), GraphScan(6, 6, larger=False)
    >>> join = GraphJoin(GraphSide(reported=[0]), GraphSide(reported=[1]), columns=1)
    >>> choose_bucket_counts(PlanGraph([three, six], [join]))
    [6, 6]
    """
    counts = [scan.count for scan in graph.scans]
    placed = {scan for scan, count in enumerate(in_place) if count}
    for join in graph.joins:
        sides = [[scan for scan in side.reported if scan not in placed] for side in (join.left, join.right)]
        if not all(sides) or placed.intersection((join.left.reported[0], join.right.reported[0])):
            continue
        chosen = _common_count(graph, counts, join)
        if chosen is None:
            continue
        for side in sides:
            count = counts[side[0]]
            for scan in side:
                in_these = counts[scan] == count or counts[scan] % chosen == 0
                if in_these and can_read_as(graph.scans[scan].held, chosen):
                    counts[scan] = chosen
    return counts


def _common_count(graph: PlanGraph, counts: list[int], join: GraphJoin) -> int | None:
    """Return the number of buckets for both sides of a join, or None if they keep their own."""
    firsts = (join.left.reported[0], join.right.reported[0])
    few, many = sorted(counts[scan] for scan in firsts)
    divisor = math.gcd(few, many)
    if few == many:
        return None
    if divisor == few and any(graph.scans[scan].larger for scan in firsts):
        return many
    merges = any(graph.scans[scan].ordered and counts[scan] > divisor for scan in firsts)
    folds = graph.foldable and (join.columns == 1 or divisor > join.columns) and not merges
    return divisor if divisor > 1 and not folds else None
