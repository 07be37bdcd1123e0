"""Choose the scans that joins read in place, in their buckets, so that other rows alone are shuffled to them.

Spark joins two bucketed tables without a shuffle where both report the same buckets. In all other joins it
shuffles both sides: if one side is in no buckets, or in others, or has one partition without any. For such
joins the bridge can read a side in place, and have Spark shuffle the rest by the hash of the files. This
module decides where that costs less, from sizes that are known before the query runs.

**The cost of a plan** is in bytes (`cost`), as if one task did all the work. Shuffling takes all cores.
Joining takes as many tasks as there are buckets, or partitions of the shuffle.

Scans that can be joined with each other in the same buckets are a group. A group has one number of buckets,
or none of its scans is read in place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from parquetry.joins.plan.cost import READ_AGAIN, SHUFFLE, STAGE
from parquetry.joins.plan.graph import GraphJoin, GraphSide, PlanGraph
from parquetry.joins.scans.buckets import can_read_as

MAX_COMMON_MULTIPLE = 4_096
"""Buckets. More are not read for a common multiple: each is a task."""


def choose_placement(graph: PlanGraph) -> list[int]:
    """Return for each scan the number of buckets that it is read in place in, or 0 if it is not.

    >>> from parquetry.joins.plan.graph import GraphScan
    >>> scan = GraphScan(8, 8, larger=False, bytes=10**9)
    >>> one_side = GraphJoin(GraphSide(10**9, [0]), GraphSide(10**8))
    >>> choose_placement(PlanGraph([scan], [one_side], cores=4, partitions=200))
    [8]
    """
    counts = [0] * len(graph.scans)
    taken: set[int] = set()
    for group in _groups(graph):
        joins = [
            position
            for position, join in enumerate(graph.joins)
            if position not in taken and group & {*join.left.scans, *join.right.scans}
        ]
        best = _Group(graph, group, [graph.joins[position] for position in joins]).best()
        if best:
            taken.update(joins)
            for scan in group:
                if can_read_as(graph.scans[scan].count, best):
                    counts[scan] = best
    return counts


def _groups(graph: PlanGraph) -> list[set[int]]:
    """Return the groups of scans that pairs connect, the largest first."""
    groups: list[set[int]] = []
    linked = [{left, right} for join in graph.joins for left, right, _ in join.pairs]
    linked += [set(union) for union in graph.unions]
    linked += [{scan} for join in graph.joins for side in (join.left, join.right) for scan in side.scans]
    for link in linked:
        touched = [group for group in groups if group & link]
        groups = [group for group in groups if not group & link]
        groups.append(link.union(*touched))
    return sorted(groups, key=lambda group: -sum(graph.scans[scan].bytes for scan in group))


class _Group:
    """The costs of a group of scans and their joins, read in place or not."""

    def __init__(self, graph: PlanGraph, group: set[int], joins: Sequence[GraphJoin]) -> None:
        self._graph = graph
        self._scans = group
        self._joins = joins

    def best(self) -> int:
        """Return the number of buckets that costs least, or 0 if nothing in place costs less."""
        costs = {count: self._cost_in_place(count) for count in self._counts()}
        if not costs:
            return 0
        count = min(costs, key=lambda each: (costs[each], -each))
        return count if costs[count] < self._cost_for_spark() else 0

    def _counts(self) -> list[int]:
        own = sorted({self._graph.scans[scan].count for scan in self._scans})
        common = [math.gcd(*own), math.lcm(*own)]
        return [*own, *(count for count in common if 1 < count <= MAX_COMMON_MULTIPLE and count not in own)]

    def _cost_in_place(self, count: int) -> float:
        scans = self._graph.scans
        placed = {scan for scan in self._scans if can_read_as(scans[scan].count, count)}
        if not any(self._kept(join.left, placed) or self._kept(join.right, placed) for join in self._joins):
            return math.inf
        shuffled = [scans[scan].outside for scan in placed if scans[scan].outside]
        again = sum(max(count // scans[scan].count - 1, 0) * scans[scan].bytes for scan in placed)
        for join in self._joins:
            shuffled += [side.bytes for side in (join.left, join.right) if not self._kept(side, placed)]
        return self._cost(shuffled, again, count)

    def _cost_for_spark(self) -> float:
        """Return the cost if no scan of the group is read in place."""
        shuffled: list[int] = []
        tasks = self._graph.partitions
        folded = False
        for join in self._joins:
            pairs = [(left, right) for left, right, solved in join.pairs if solved]
            common = [self._folded(left, right) for left, right in pairs]
            if any(common) and not folded:
                tasks = min(tasks, max(common))
                # Spark folds the buckets of one of two sides again, but not of a join that it folded both of
                folded = all(
                    each not in {self._graph.scans[scan].count for scan in pair}
                    for each, pair in zip(common, pairs, strict=True)
                )
            else:
                shuffled += [join.left.bytes, join.right.bytes]
        return self._cost(shuffled, 0, tasks)

    def _folded(self, left: int, right: int) -> int:
        """Return the number of buckets that Spark joins two scans in, or 0 if it cannot."""
        scans = self._graph.scans
        one, other = scans[left], scans[right]
        count = math.gcd(one.count, other.count)
        if (one.larger or other.larger) and count == min(one.count, other.count):
            return max(one.count, other.count)
        return count if count > 1 or one.count == other.count else 0

    def _kept(self, side: GraphSide, placed: set[int]) -> bool:
        return any(
            scan in placed and all(placed.issuperset(union) for union in self._graph.unions if scan in union)
            for scan in side.scans
        )

    def _cost(self, shuffled: Sequence[int], again: int, tasks: int) -> float:
        """Return the cost of a plan.

        Args:
            shuffled: the bytes of each side that is shuffled.
            again: bytes that are read again.
            tasks: how many tasks join.
        """
        joined = sum(side.bytes for join in self._joins for side in (join.left, join.right))
        cores = self._graph.cores
        shuffles = SHUFFLE * sum(shuffled) / cores + STAGE * len(shuffled)
        return shuffles + (joined + READ_AGAIN * again) / min(cores, tasks)
