"""Which way to a filter's partitions examines the fewest keys: the partitions' own keys, or an index.

Nothing is kept of how values are spread. The ways are counted, a few keys of each in turn, until one is at
its end and no other can be shorter: so the choice costs a small multiple of the shortest way, and what an
index has given by then need not be read again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import islice

from parquetry.metastore.reading import entries
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.metastore.visible_rows import Examined
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import columns_of
from parquetry.scan.generate import plan_scan
from parquetry.scan.plan import Estimate, IndexOrder, KeyScan, ScanPlan
from parquetry.store.base import Range

FIRST_COUNT, GROWTH, LAST_COUNT = 16, 4, 1 << 18
"""Keys counted of each way at first, how this grows, and where the partitions' own keys are taken instead."""
FEW_GETS = 64
"""Whole keys that are read as they are."""
ROWS_KEPT = 1 << 16
"""Rows that an index has led to, past which their keys are read again rather than kept."""


def cheapest_plan(snapshot: TableSnapshot, filter: Filter, examined: Examined | None = None) -> ScanPlan:
    """Plan the reading of the partitions that a condition may be TRUE for.

    Args:
        snapshot: the version of the table.
        filter: on partition columns only; parts that are not understood become residuals.
        examined: counts the keys that had to be read in order to choose.

    Returns:
        the plan that examines the fewest keys, for `TableSnapshot.partitions` of this version.

    Raises:
        ColumnNotFoundError: the condition is about a column that is not a partition column.
    """
    schema = snapshot.key_schema
    by_key = plan_scan(filter, schema)
    if not snapshot.metadata.indexes or (len(by_key.scans) <= FEW_GETS and _gets(by_key)):
        return by_key  # a few whole keys: looking for anything shorter would cost more
    about = columns_of(filter.node)
    ways: list[_Way] = []
    for index in snapshot.metadata.indexes:
        if not index.ready or schema.fields[index.order[0]].name not in about:
            continue
        order = IndexOrder(index.name, index.id, index.order)
        plan = plan_scan(filter, schema.reordered(index.order))
        if plan.scans and not plan.whole:
            scans = tuple(KeyScan("index", scan.start, scan.stop, scan.residual) for scan in plan.scans)
            ways.append(_ByIndex(snapshot, ScanPlan(scans, order)))
    if not ways:
        return by_key
    return _shortest([*ways, _ByKeys(snapshot, by_key)], examined)


def _gets(plan: ScanPlan) -> bool:
    return all(scan.kind == "get" for scan in plan.scans)


class _Way(ABC):
    """A plan, and how many keys it examines as far as they have been counted.

    Attributes:
        plan: as given.
        keys: examined; of an index, entries and the rows to which they lead.
        complete: whether these are all.
    """

    def __init__(self, plan: ScanPlan) -> None:
        self.plan = plan
        self.keys = 0
        self.complete = False

    @abstractmethod
    def count(self, upto: int, examined: Examined | None) -> None:
        """Go on counting until so many keys are known, or all."""

    def found(self) -> tuple[bytes, ...] | None:
        """Return the keys of the rows to read, where they are known."""
        return None


class _ByKeys(_Way):
    """By the partitions' own keys."""

    def __init__(self, snapshot: TableSnapshot, plan: ScanPlan) -> None:
        super().__init__(plan)
        self._visible = snapshot.visible
        self._left: list[Range] = [(scan.start, scan.stop) for scan in plan.scans]
        if plan.whole or _gets(plan):
            self.keys = snapshot.totals.partitions if plan.whole else len(plan.scans)
            self.complete = True

    def count(self, upto: int, examined: Examined | None) -> None:
        if self.complete or self.keys >= upto:
            return
        number, self._left = self._visible.count(self._left, upto - self.keys)
        self.keys += number
        self.complete = not self._left
        if examined is not None:
            examined.keys += number


class _ByIndex(_Way):
    """By the entries of an index."""

    def __init__(self, snapshot: TableSnapshot, plan: ScanPlan) -> None:
        super().__init__(plan)
        self._read = Examined()
        self._rows: list[bytes] = []
        # the cost of an index is the number of all its entries in the ranges
        self._entries = entries(snapshot.visible, plan, snapshot.key_schema, self._read, tested=False)

    def count(self, upto: int, examined: Examined | None) -> None:
        before = self._read.keys
        while not self.complete and self.keys < upto:
            some = list(islice(self._entries, upto - self.keys))
            self.complete = not some
            self._rows += filter(None, some)
            self.keys = self._read.keys + len(self._rows)
        if examined is not None:
            examined.keys += self._read.keys - before

    def found(self) -> tuple[bytes, ...] | None:
        if not self.complete or len(self._rows) > ROWS_KEPT:
            return None
        return tuple(sorted(self._rows))


def _shortest(ways: list[_Way], examined: Examined | None) -> ScanPlan:
    """Count until a way is complete and no other can be shorter; the last way is that by the partitions' keys."""
    upto = FIRST_COUNT
    best: _Way | None = None
    while True:
        for way in ways:
            way.count(upto if best is None else min(upto, best.keys), examined)
            if way.complete and (best is None or way.keys < best.keys):
                best = way
        if best is not None and all(best.keys <= way.keys for way in ways):
            return _chosen(best, ways)
        if upto > LAST_COUNT:
            return _chosen(ways[-1], ways)
        upto *= GROWTH


def _chosen(best: _Way, ways: list[_Way]) -> ScanPlan:
    estimates = tuple(
        Estimate(None if way.plan.index is None else way.plan.index.name, way.keys, way.complete)
        for way in ways
    )
    return ScanPlan(best.plan.scans, best.plan.index, estimates, best.found())
