"""Access paths compared by counts of their keys, for stores that count keys far faster than they return rows.

Paths are counted in turn, each until its cost passes a budget, and the budget grows. The path that is counted
to its end within a budget that no other path keeps is the shortest. So little is counted beyond the shortest
path's own keys. There are no samples.

Costs are in keys that a scan returns in order:

- A key of the partitions' own costs 1, or less if the store tests it and leaves it out (`ReadCosts.tested`).
- An entry of an index costs as much as a row that is looked up (`ReadCosts.lookup`), and so does the row
  behind it.
- An index takes two requests more than the partitions' own keys.

An index is counted further than the partitions' own keys. If it costs more than reading the whole table, it
is given up, and the partitions' own keys need not be counted to their end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from parquetry.metastore.partition_rows.visible_rows import VisibleRows
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.scan import Estimate, ScanPlan, scans_condition
from parquetry.store import Range, ReadCosts

MAX_SHORT_COST = 256
"""Cost of the partitions' own keys, besides what an index costs in requests. Up to this cost no index is
looked at: to plan for one and to read by it would take as long."""
INDEX_REQUESTS = 2
"""Requests that reading by an index takes more: for its entries, and to count them."""
FIRST_BUDGET_FACTOR = 16
"""How far the partitions' own keys are counted at first, as a multiple of the cost of a short path."""
INDEX_BUDGET_FACTOR, BUDGET_GROWTH_FACTOR = 2, 4
"""The first budget of an index, as a multiple of the budget of the partitions' own keys; and the growth of
the budget and of this multiple."""


@dataclass(slots=True)
class _Part:
    """The ranges of one path in one order of keys.

    Attributes:
        visible: the rows that the ranges are about.
        ranges: the ranges that must be counted.
        cost: the cost of a key.
        fixed: the cost of single keys, seeks and requests.
        single: number of single keys, which need not be counted.
        keys: number of keys counted so far, without single keys.
        complete: whether all keys have been counted.
    """

    visible: VisibleRows
    ranges: Sequence[Range]
    cost: float
    fixed: float
    single: int = 0
    keys: int = 0
    complete: bool = False

    def total(self) -> float:
        """Return the cost of the keys counted so far."""
        return self.fixed + self.cost * self.keys

    def count(self, budget: float) -> None:
        """Count keys until they cost as much as the budget."""
        if self.complete or self.total() >= budget:
            return
        limit = math.ceil((budget - self.fixed) / self.cost)
        self.keys = self.visible.count(self.ranges, limit) if self.ranges else 0
        self.complete = self.keys < limit


class CountedPath:
    """A plan, and the number of its keys, counted to the end or to a limit.

    Args:
        snapshot: the version of the table.
        plan: the plan.
        costs: what reading costs in the store.

    Attributes:
        plan: the plan.
        is_local: whether the store is asked without requests to a server.
    """

    def __init__(self, snapshot: TableSnapshot, plan: ScanPlan, costs: ReadCosts) -> None:
        self.plan = plan
        self.is_local = costs.request == 0
        self._own: list[_Part] = []
        self._by_index: list[_Part] = []
        for part in (plan, *plan.by_indexes):
            if part.index is not None:
                self._by_index.append(_index_part(snapshot, part, costs))
            elif part.scans or not plan.by_indexes:
                self._own.append(_own_part(snapshot, part, costs))

    @property
    def table_cost(self) -> float:
        """Return the cost of reading the partitions' own keys of the whole table as this path reads them."""
        return max(part.cost * part.visible.partitions for part in self._own)

    def count(self, budget: float) -> bool:
        """Count keys until they cost more than the budget; return whether all are counted, and cost less."""
        for part in (*self._by_index, *self._own):  # entries first: fewer of them are as expensive
            part.count(budget - self.cost + part.total())
        return self.complete and self.cost < budget

    @property
    def cost(self) -> float:
        """Return the cost of the keys counted so far."""
        return sum(part.total() for part in (*self._own, *self._by_index))

    @property
    def complete(self) -> bool:
        """Return whether all keys have been counted."""
        return all(part.complete for part in (*self._own, *self._by_index))

    @property
    def keys(self) -> int:
        """Return the number of keys counted so far; an entry of an index counts with the row behind it."""
        own = sum(part.single + part.keys for part in self._own)
        return own + 2 * sum(part.keys for part in self._by_index)

    def estimate(self) -> Estimate:
        """Return the number of keys: for an index, its entries and as many rows.

        If the entries are tested, some may lead to no row.
        """
        names = tuple(index.name for index in self.plan.indexes)
        parts = [part for part in (self.plan, *self.plan.by_indexes) if part.index is not None]
        tested = any(scan.residual is not None for part in parts for scan in part.scans)
        sampled = self.complete and tested
        return Estimate(names, bool(self._own), self.keys, self.complete and not sampled, sampled)


def _own_part(snapshot: TableSnapshot, plan: ScanPlan, costs: ReadCosts) -> _Part:
    visible = snapshot.visible
    cost = _key_cost(visible, plan, snapshot, costs)
    if plan.whole:
        return _Part(visible, (), cost, costs.seek, keys=visible.partitions, complete=True)
    ranges = [(scan.start, scan.stop) for scan in plan.scans if scan.kind != "get"]
    single = len(plan.scans) - len(ranges)
    return _Part(
        visible,
        ranges,
        cost,
        single * costs.lookup + len(ranges) * costs.seek,
        single,
        complete=not ranges,
    )


def _key_cost(visible: VisibleRows, plan: ScanPlan, snapshot: TableSnapshot, costs: ReadCosts) -> float:
    """Return the cost of one of the partitions' own keys. The store may test them and leave most out."""
    tests = visible.leaves_out and scans_condition(plan.scans, snapshot.key_schema) is not None
    return costs.tested if tests else 1


def _index_part(snapshot: TableSnapshot, plan: ScanPlan, costs: ReadCosts) -> _Part:
    assert plan.index is not None
    fixed = INDEX_REQUESTS * costs.request + len(plan.scans) * costs.seek
    ranges = [(scan.start, scan.stop) for scan in plan.scans]
    return _Part(snapshot.visible.index_entries(plan.index.id), ranges, 2 * costs.lookup, fixed)


def short_count(snapshot: TableSnapshot, plan: ScanPlan, costs: ReadCosts) -> int | None:
    """Return the number of keys that a plan reads, or None if it is worth looking for another path.

    Args:
        snapshot: the version of the table.
        plan: a plan by the partitions' own keys.
        costs: what reading costs in the store.
    """
    if plan.whole:
        return None
    visible = snapshot.visible
    ranges = [(scan.start, scan.stop) for scan in plan.scans if scan.kind != "get"]
    single = len(plan.scans) - len(ranges)
    budget = (
        MAX_SHORT_COST + INDEX_REQUESTS * costs.request - single * costs.lookup - len(ranges) * costs.seek
    )
    if budget <= 0:
        return None
    limit = math.ceil(budget / _key_cost(visible, plan, snapshot, costs))
    keys = visible.count(ranges, limit) if ranges else 0
    return keys + single if keys < limit else None


def cheapest_by_counts(own: CountedPath, others: Sequence[CountedPath]) -> ScanPlan:
    """Return the plan of the path of the least cost, with the estimates of all paths.

    Args:
        own: the path by the partitions' own keys.
        others: the other paths.
    """
    best = _cheapest(own, others)
    estimates = tuple(path.estimate() for path in (*others, own))
    counted = own.estimate().keys if best is own and own.complete else None
    return replace(best.plan, estimates=estimates, counted=counted)


def _cheapest(own: CountedPath, others: Sequence[CountedPath]) -> CountedPath:
    rivals = list(others)
    budget = max(FIRST_BUDGET_FACTOR * MAX_SHORT_COST, own.cost)
    factor = INDEX_BUDGET_FACTOR
    own.count(budget)
    if own.complete and own.is_local and own.cost <= MAX_SHORT_COST:  # any path is short: the fewest keys
        return min(
            (own, *(path for path in rivals if path.count(MAX_SHORT_COST))), key=lambda path: path.keys
        )
    while rivals:
        most = own.cost if own.complete else own.table_cost
        limit = min(factor * budget, most)
        complete = [path for path in rivals if path.count(limit)]
        if complete:  # each other path costs more than the limit
            best = min(complete, key=lambda path: path.cost)
            own.count(best.cost)
            return own if own.complete and own.cost <= best.cost else best
        rivals = [path for path in rivals if path.cost < most]
        budget *= BUDGET_GROWTH_FACTOR
        factor *= BUDGET_GROWTH_FACTOR
        if rivals:
            own.count(budget)
    return own
