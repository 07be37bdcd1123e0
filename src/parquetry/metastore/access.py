"""Which way to a filter's partitions examines the fewest keys: the partitions' own keys, or an index.

Nothing is kept of how values are spread. The ways are counted, a few keys of each in turn, until one is at
its end and no other can be shorter: so the choice costs a small multiple of the shortest way, and what an
index has given by then need not be read again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from parquetry.metastore.reading import entries, reordered
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.metastore.view import Examined
from parquetry.predicate.bind import bind
from parquetry.predicate.nodes import Predicate
from parquetry.predicate.nodes import columns as columns_of
from parquetry.predicate.normalise import normalise
from parquetry.scan.generate import plan_scan
from parquetry.scan.plan import Estimate, IndexOrder, KeyScan, ScanPlan

FIRST_COUNT, GROWTH, LAST_COUNT = 64, 4, 1 << 18
"""Keys counted of each way at first, how this grows, and where the partitions' own keys are taken instead."""
KEYS_KEPT = 1 << 16
"""Keys that an index has led to, past which they are read again rather than kept."""


def plan_partitions(
    snapshot: TableSnapshot, predicate: Predicate, examined: Examined | None = None
) -> ScanPlan:
    """Plan the reading of the partitions that a condition may be TRUE for.

    Args:
        snapshot: the version of the table.
        predicate: on partition columns only; parts that are not understood become residuals.
        examined: counts the keys that had to be read in order to choose.

    Returns:
        the plan that examines the fewest keys, for `TableSnapshot.partitions` of this version.

    Raises:
        ColumnNotFoundError: the condition is about a column that is not a partition column.
        ValueTypeError: a literal cannot be compared with its column.
    """
    columns, descending = snapshot.key_columns, snapshot.metadata.descending
    by_key = plan_scan(predicate, columns, descending)
    if not snapshot.metadata.indexes or (len(by_key.scans) <= FIRST_COUNT and _gets(by_key)):
        return by_key  # a few whole keys: looking for anything shorter would cost more
    predicate = normalise(bind(predicate, dict(columns)))
    about = columns_of(predicate)
    ways = []
    for index in snapshot.metadata.indexes:
        if not index.ready or columns[index.order[0]][0] not in about:
            continue
        order = IndexOrder(index.name, index.id, index.order)
        plan = plan_scan(predicate, *reordered(order, columns, descending))
        if plan.scans and not plan.whole:
            scans = tuple(KeyScan("index", scan.start, scan.stop, scan.residual) for scan in plan.scans)
            ways.append(_Way(snapshot, ScanPlan(scans, order), examined))
    if not ways:
        return by_key
    return _shortest([_Way(snapshot, by_key, examined), *ways])


def _gets(plan: ScanPlan) -> bool:
    return all(scan.kind == "get" for scan in plan.scans)


class _Way:
    """A plan, and how many keys it examines as far as they have been counted."""

    def __init__(self, snapshot: TableSnapshot, plan: ScanPlan, examined: Examined | None) -> None:
        self.plan = plan
        self._snapshot = snapshot
        self._told = examined
        self._examined = Examined()
        self._matches: list[bytes] = []
        self._keys: Iterator[bytes | None] | None = None
        self.complete = True
        if plan.index is None and plan.whole:
            self._known = snapshot.totals.partitions
        elif plan.index is None and _gets(plan):
            self._known = len(plan.scans)
        else:
            self._known = 0
            self.complete = False

    @property
    def keys(self) -> int:
        """Return the keys examined: entries of an index, and the partitions to which they lead."""
        return self._known + self._examined.keys + len(self._matches)

    def count(self, upto: int) -> None:
        """Go on counting until so many keys are known, or all."""
        if self.complete:
            return
        if self._keys is None:
            self._keys = self._rows()
        before = self._examined.keys
        while not self.complete and self.keys < upto:
            some = list(islice(self._keys, upto - self.keys))
            self.complete = not some
            self._matches += [key for key in some if key is not None]
        if self._told is not None:
            self._told.keys += self._examined.keys - before

    def _rows(self) -> Iterator[bytes | None]:
        """Yield for each key examined the partition to which it leads; None if it leads to none, or is one."""
        snapshot = self._snapshot
        columns, descending = snapshot.key_columns, snapshot.metadata.descending
        if self.plan.index is not None:
            return entries(snapshot.store, snapshot.id, self.plan, columns, descending, self._examined)
        ranges = [(scan.start, scan.stop) for scan in self.plan.scans]
        return (None for _ in snapshot.view.scan(ranges, examined=self._examined))

    @property
    def estimate(self) -> Estimate:
        """Return what is known."""
        index = self.plan.index
        return Estimate(None if index is None else index.name, self.keys, self.complete)

    @property
    def found(self) -> tuple[bytes, ...] | None:
        """Return the keys of the partitions that an index leads to, if all are known and not too many."""
        if self.plan.index is None or len(self._matches) > KEYS_KEPT:
            return None
        return tuple(sorted(set(self._matches)))


def _shortest(ways: list[_Way]) -> ScanPlan:
    upto = FIRST_COUNT
    while True:
        for way in ways:
            way.count(upto)
            best = min((way for way in ways if way.complete), key=lambda way: way.keys, default=None)
            if best is not None and all(best.keys <= way.keys for way in ways):
                return _chosen(best, ways)
        if upto > LAST_COUNT:
            return _chosen(ways[0], ways)
        upto *= GROWTH


def _chosen(best: _Way, ways: list[_Way]) -> ScanPlan:
    estimates = tuple(way.estimate for way in ways)
    return ScanPlan(best.plan.scans, best.plan.index, estimates, best.found if best.complete else None)
