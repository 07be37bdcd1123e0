"""Which way to a filter's partitions examines the fewest keys: the partitions' own keys, an index, or a union of them.

No statistics of values are kept. Ways are compared in three steps, each of which may decide:

1. Keys of each way are counted in turn, up to 1 % of the table's. A way whose keys have all been counted is taken once
   no other can be shorter. Keys counted by an index need not be read again.
2. A sample of the table's keys (`key_sample`) is tested against each way. So 64 seeks tell that `region != 'eu'` reads
   three quarters of the table by either way.
3. If the sample favours an index, its entries are counted on, as far as they stay fewer than the other ways' keys. If
   the sample is too coarse to tell, since the ways read a few hundredths of the table each, they are counted in turn.

So a filter for which no index helps costs some 3 % more than it would without one, and a way that is taken is nearly
always the shortest. A key that an index leads to costs as much as three that are read in order, and a union has to
be shorter by a tenth, at least, before it is taken on the word of a sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import islice

from parquetry.metastore.indexes import entry_key
from parquetry.metastore.key_sample import sample_keys
from parquetry.metastore.reading import entries, united
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.metastore.visible_rows import Examined
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import columns_of
from parquetry.scan.execute import Test, compile_residual
from parquetry.scan.generate import plan_scan
from parquetry.scan.plan import Estimate, IndexOrder, ScanPlan
from parquetry.scan.unions import plan_by_index, unions
from parquetry.store.base import Range

FIRST_COUNT, GROWTH = 16, 4
"""Keys of each way that are counted first, and the factor by which this grows."""
FREE_COUNT, FREE_SHARE = 64, 400
"""Keys that are counted before a sample is taken: so many, or the table's number divided by this if that is more."""
FEW_HITS = 3
"""Keys of a sample that a way reads, up to which nobody can tell it from a way that reads none of them."""
MARGIN = 4
"""Factor by which a way may turn out longer than its estimate before it is given up."""
INDEX_COST, GAIN = 3, 0.9
"""Cost of a key that an index is read for, in keys that are read in order; share of the cost of the partitions' own keys
that another way may have at most, where both are estimates."""
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
        the plan that examines the fewest keys, as far as that is worth finding out, for
        `TableSnapshot.partitions` of this version.

    Raises:
        ColumnNotFoundError: the condition is about a column that is not a partition column.
    """
    schema = snapshot.key_schema
    by_key = plan_scan(filter, schema)
    if not snapshot.metadata.indexes or (len(by_key.scans) <= FEW_GETS and _gets(by_key)):
        return by_key  # a few whole keys: looking for anything shorter would cost more
    about = columns_of(filter.node)
    indexes = [
        IndexOrder(index.name, index.id, index.order)
        for index in snapshot.metadata.indexes
        if index.ready and schema.fields[index.order[0]].name in about
    ]
    plans = [plan_by_index(filter, schema, index) for index in indexes]
    ways: list[_Way] = [_ByIndex(snapshot, plan) for plan in plans if plan.scans and not plan.whole]
    ways += [_Union(snapshot, plan) for plan in unions(filter, schema, indexes)]
    if not ways:
        return by_key
    own = _ByKeys(snapshot, by_key)
    best = _Choice(snapshot, own, ways, compile_residual(filter, schema), examined).best()
    estimates = tuple(way.estimate() for way in (*ways, own))
    return ScanPlan(best.plan.scans, best.plan.index, best.plan.by_indexes, estimates, best.rows())


def _gets(plan: ScanPlan) -> bool:
    return all(scan.kind == "get" for scan in plan.scans)


class _Way(ABC):
    """A plan, and how many keys it examines.

    Attributes:
        plan: as given.
        keys: counted so far; of an index, entries and the rows to which they lead.
        complete: whether these are all.
        expected: keys that it examines by the sample, or None if there was no sample.
    """

    def __init__(self, plan: ScanPlan) -> None:
        self.plan = plan
        self.keys = 0
        self.complete = False
        self.expected: float | None = None

    @abstractmethod
    def count(self, limit: int, examined: Examined | None) -> None:
        """Count on until so many keys are known, or all."""

    @abstractmethod
    def expect(self, sample: Sequence[bytes], total: int) -> None:
        """Set `expected` by a sample of the table's keys, of which there are so many in total."""

    @property
    @abstractmethod
    def cost(self) -> float:
        """Return what the expected keys cost, in keys that are read in order."""

    def rows(self) -> tuple[bytes, ...] | None:
        """Return the keys of the rows to which indexes lead, in order, if they are known."""
        return None

    def estimate(self) -> Estimate:
        """Return the number of keys as far as it is known."""
        plan = self.plan
        names = tuple(index.name for index in plan.indexes)
        sampled = self.expected is not None and not self.complete
        keys = round(self.expected) if self.expected is not None and sampled else self.keys
        return Estimate(names, plan.index is None and bool(plan.scans), keys, self.complete, sampled)


class _ByKeys(_Way):
    """By the partitions' own keys."""

    def __init__(self, snapshot: TableSnapshot, plan: ScanPlan) -> None:
        super().__init__(plan)
        self._visible = snapshot.visible
        self.counted: list[bytes] = []
        self._left: list[Range] = [(scan.start, scan.stop) for scan in plan.scans]
        if plan.whole or _gets(plan):
            self.keys = snapshot.totals.partitions if plan.whole else len(plan.scans)
            self.complete = True

    def count(self, limit: int, examined: Examined | None) -> None:
        if self.complete or self.keys >= limit:
            return
        counted, self._left = self._visible.keys(self._left, limit - self.keys)
        self.counted += counted
        self.keys = len(self.counted)
        self.complete = not self._left
        if examined is not None:
            examined.keys += len(counted)

    def expect(self, sample: Sequence[bytes], total: int) -> None:
        hits = sum(map(self.plan.reads_key, sample))
        self.expected = self.keys if self.complete else max(self.keys, _scaled(hits, sample, total))

    @property
    def cost(self) -> float:
        return self.keys if self.expected is None else self.expected


class _ByIndex(_Way):
    """By the entries of an index."""

    def __init__(self, snapshot: TableSnapshot, plan: ScanPlan) -> None:
        super().__init__(plan)
        self._schema = snapshot.key_schema
        self._tests: dict[Filter, Test] = {}
        self._read = Examined()
        self._entries = entries(snapshot.visible, plan, snapshot.key_schema, self._read)
        self.counted: list[bytes] = []

    def count(self, limit: int, examined: Examined | None) -> None:
        before = self._read.keys
        while not self.complete and self.keys < limit:
            some = list(islice(self._entries, limit - self.keys))
            self.complete = not some
            self.counted += filter(None, some)
            self.keys = self._read.keys + len(self.counted)
        if examined is not None:
            examined.keys += self._read.keys - before

    def expect(self, sample: Sequence[bytes], total: int) -> None:
        hits = sum(map(self._keys_for, sample))
        self.expected = self.keys if self.complete else max(self.keys, _scaled(hits, sample, total))

    def _keys_for(self, key: bytes) -> int:
        """Return how many keys are examined because of one partition: at most its entry and its row."""
        assert self.plan.index is not None
        order = self.plan.index.order
        entry = entry_key(order, key)
        scan = self.plan.scan_of(entry)
        if scan is None or scan.residual is None:
            return 0 if scan is None else 2
        if scan.residual not in self._tests:
            self._tests[scan.residual] = compile_residual(scan.residual, self._schema.reordered(order))
        return 2 if self._tests[scan.residual](entry) else 1

    @property
    def cost(self) -> float:
        return INDEX_COST * (self.keys if self.expected is None else self.expected)

    def rows(self) -> tuple[bytes, ...] | None:
        if not self.complete or len(self.counted) > ROWS_KEPT:
            return None
        return tuple(sorted(self.counted))


class _Union(_Way):
    """By the partitions' own keys for some branches, and by indexes for others."""

    def __init__(self, snapshot: TableSnapshot, plan: ScanPlan) -> None:
        super().__init__(plan)
        self.by_index = [_ByIndex(snapshot, part) for part in plan.by_indexes]
        self._parts: list[_Way] = [*self.by_index, _ByKeys(snapshot, ScanPlan(plan.scans))]

    def count(self, limit: int, examined: Examined | None) -> None:
        for part in self._parts:
            part.count(part.keys + max(0, limit - self.keys), examined)
            self.keys = sum(each.keys for each in self._parts)
        self.complete = all(part.complete for part in self._parts)

    def expect(self, sample: Sequence[bytes], total: int) -> None:
        for part in self._parts:
            part.expect(sample, total)
        self.expected = sum(part.expected or 0 for part in self._parts)

    def estimate(self) -> Estimate:
        if self.expected is not None:
            self.expected = sum(
                max(part.keys, 0 if part.complete else part.expected or 0) for part in self._parts
            )
        return super().estimate()

    @property
    def cost(self) -> float:
        return sum(part.cost for part in self._parts)

    def rows(self) -> tuple[bytes, ...] | None:
        counted = [part.counted for part in self.by_index]
        if not all(part.complete for part in self.by_index) or sum(map(len, counted)) > ROWS_KEPT:
            return None
        return united(self.plan, counted)


class _Choice:
    """The choice between the partitions' own keys and other ways.

    Args:
        snapshot: the version of the table.
        own: by the partitions' own keys.
        others: of which there is one, at least.
        test: tells whether a partition's key satisfies the filter, or may.
        examined: counts the keys read.
    """

    def __init__(
        self,
        snapshot: TableSnapshot,
        own: _ByKeys,
        others: Sequence[_Way],
        test: Test,
        examined: Examined | None,
    ) -> None:
        self._snapshot = snapshot
        self._own = own
        self._ways = [own, *others]
        self._test = test
        self._examined = examined

    def best(self) -> _Way:
        """Return the shortest way, or that by the partitions' keys if nothing shorter is found at little cost."""
        total = self._snapshot.totals.partitions
        best = self._counted(self._ways, max(FREE_COUNT, total // FREE_SHARE))
        if best is not None:
            return best
        sample = sample_keys(self._snapshot, self._examined)
        for way in self._ways:
            way.expect(sample, total)
        coarse = _scaled(FEW_HITS, sample, total)
        short = [way for way in self._ways if way.cost <= INDEX_COST * coarse]
        if self._own in short:
            best = None if self._is_dense() else self._counted(short, round(MARGIN * coarse))
            return self._own if best is None else best
        likely = min(self._ways, key=lambda way: way.cost)
        if likely.cost > GAIN * self._own.cost or not self._entries_counted(likely):
            return self._own
        return likely

    def _counted(self, ways: Sequence[_Way], limit: int) -> _Way | None:
        """Count keys of ways in turn; return one that is complete when no other can be shorter, or None at the limit."""
        upto = FIRST_COUNT
        while True:
            best: _Way | None = None
            for way in ways:
                way.count(upto if best is None else min(upto, best.keys), self._examined)
                if way.complete and (best is None or way.keys < best.keys):
                    best = way
            if best is not None and all(best.keys <= way.keys for way in ways):
                return best
            if upto >= limit:
                return None
            upto = min(upto * GROWTH, limit)

    def _is_dense(self) -> bool:
        """Return whether so many of the partitions' own keys that were counted satisfy the filter that no index can gain."""
        keys = self._own.counted
        return 2 * INDEX_COST * sum(map(self._test, keys)) >= len(keys) > 0

    def _entries_counted(self, way: _Way) -> bool:
        """Count the entries of a way's indexes, but no more than it may have; return whether there are no more."""
        parts = way.by_index if isinstance(way, _Union) else [way]
        for part in parts:
            limit = round(min(self._own.cost / INDEX_COST, MARGIN * max(part.cost, 1)))
            part.count(limit, self._examined)
        return all(part.complete for part in parts)


def _scaled(hits: int, sample: Sequence[bytes], total: int) -> float:
    """Return how many of so many keys are like some of a sample."""
    return (hits + 0.5) / (len(sample) + 1) * total
