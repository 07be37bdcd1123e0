"""Access paths to a filter's partitions, each with its number of keys to examine, counted or estimated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import islice

from parquetry.metastore.partition_rows.indexes import entry_key
from parquetry.metastore.partition_rows.reading import entries, unite_keys
from parquetry.metastore.partition_rows.visible_rows import Examined
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.predicate import Filter
from parquetry.scan import Estimate, ScanPlan, Test, compile_residual
from parquetry.store import Range

INDEXED_KEY_COST = 3
"""Cost of an index's entry, or of the row behind it, as a multiple of a key that is read in order."""
MAX_CACHED_ROWS = 1 << 16
"""Most keys of indexed rows that are kept for the reading. If there are more, the reading finds them
again."""


class AccessPath(ABC):
    """A plan, and the number of keys that it examines.

    Attributes:
        plan: the plan.
        keys: keys counted so far. An index counts its entries and the rows behind them.
        complete: whether all keys have been counted.
        expected: keys that it examines, as the sample estimates them, or None if there was no sample.
    """

    def __init__(self, plan: ScanPlan) -> None:
        self.plan = plan
        self.keys = 0
        self.complete = False
        self.expected: float | None = None

    @abstractmethod
    def count(self, limit: int, examined: Examined | None) -> None:
        """Count on until `limit` keys are counted, or all."""

    @abstractmethod
    def expect(self, sample: Sequence[bytes], total: int) -> None:
        """Set `expected`.

        Args:
            sample: keys of partitions, spread over the whole table.
            total: number of partitions of the table.
        """

    @property
    @abstractmethod
    def cost(self) -> float:
        """Return the cost of the expected keys, in keys that are read in order."""

    def rows(self) -> tuple[bytes, ...] | None:
        """Return the keys of the rows that indexes lead to, in order, or None if they are not known."""
        return None

    def estimate(self) -> Estimate:
        """Return the number of keys, counted or estimated."""
        plan = self.plan
        names = tuple(index.name for index in plan.indexes)
        expected = self._expected_now()
        sampled = expected is not None and not self.complete
        keys = round(expected) if expected is not None and sampled else self.keys
        return Estimate(names, plan.index is None and bool(plan.scans), keys, self.complete, sampled)

    def _expected_now(self) -> float | None:
        """Return `expected`, corrected by the keys counted since."""
        return self.expected


class KeyPath(AccessPath):
    """The access path by the partitions' own keys."""

    def __init__(self, snapshot: TableSnapshot, plan: ScanPlan) -> None:
        super().__init__(plan)
        self._visible = snapshot.visible
        self.counted: list[bytes] = []
        self._remaining: list[Range] = [(scan.start, scan.stop) for scan in plan.scans]
        if plan.whole or only_gets(plan):
            self.keys = snapshot.totals.partitions if plan.whole else len(plan.scans)
            self.complete = True

    def count(self, limit: int, examined: Examined | None) -> None:
        """Count on until `limit` keys are counted, or all."""
        if self.complete or self.keys >= limit:
            return
        counted, self._remaining = self._visible.keys(self._remaining, limit - self.keys)
        self.counted += counted
        self.keys = len(self.counted)
        self.complete = not self._remaining
        if examined is not None:
            examined.keys += len(counted)

    def expect(self, sample: Sequence[bytes], total: int) -> None:
        """Set `expected` by a sample of the table's keys."""
        hits = sum(map(self.plan.reads_key, sample))
        self.expected = self.keys if self.complete else max(self.keys, scaled(hits, sample, total))

    @property
    def cost(self) -> float:
        """Return the cost of the expected keys."""
        return self.keys if self.expected is None else self.expected


class IndexPath(AccessPath):
    """The access path by the entries of an index."""

    def __init__(self, snapshot: TableSnapshot, plan: ScanPlan) -> None:
        super().__init__(plan)
        self._schema = snapshot.key_schema
        self._tests: dict[Filter, Test] = {}
        self._read = Examined()
        # The cost of an index is the number of all its entries in the ranges.
        self._entries = entries(snapshot.visible, plan, snapshot.key_schema, self._read, tested=False)
        self.counted: list[bytes] = []

    def count(self, limit: int, examined: Examined | None) -> None:
        """Count on until `limit` keys are counted, or all."""
        before = self._read.keys
        while not self.complete and self.keys < limit:
            wanted = limit - self.keys
            some = list(islice(self._entries, wanted))
            self.complete = len(some) < wanted
            self.counted += filter(None, some)
            self.keys = self._read.keys + len(self.counted)
        if examined is not None:
            examined.keys += self._read.keys - before

    def expect(self, sample: Sequence[bytes], total: int) -> None:
        """Set `expected` by a sample of the table's keys."""
        hits = sum(map(self._keys_for, sample))
        self.expected = self.keys if self.complete else max(self.keys, scaled(hits, sample, total))

    def _keys_for(self, key: bytes) -> int:
        """Return the number of keys examined for one partition: at most its entry and its row."""
        assert self.plan.index is not None
        order = self.plan.index.order
        entry = entry_key(order, key)
        scan = self.plan.scan_containing(entry)
        if scan is None or scan.residual is None:
            return 0 if scan is None else 2
        if scan.residual not in self._tests:
            self._tests[scan.residual] = compile_residual(scan.residual, self._schema.reorder(order))
        return 2 if self._tests[scan.residual](entry) else 1

    @property
    def cost(self) -> float:
        """Return the cost of the expected keys."""
        return INDEXED_KEY_COST * (self.keys if self.expected is None else self.expected)

    def rows(self) -> tuple[bytes, ...] | None:
        """Return the keys of the rows that the index leads to, in order, or None if they are not known."""
        if not self.complete or len(self.counted) > MAX_CACHED_ROWS:
            return None
        return tuple(sorted(self.counted))


class UnionPath(AccessPath):
    """The access path by the partitions' own keys for some branches of an OR, and by indexes for others."""

    def __init__(self, snapshot: TableSnapshot, plan: ScanPlan) -> None:
        super().__init__(plan)
        self.by_index = [IndexPath(snapshot, part) for part in plan.by_indexes]
        self._parts: list[AccessPath] = [*self.by_index, KeyPath(snapshot, ScanPlan(plan.scans))]

    def count(self, limit: int, examined: Examined | None) -> None:
        """Count on until `limit` keys are counted, or all."""
        for part in self._parts:
            part.count(part.keys + max(0, limit - self.keys), examined)
            self.keys = sum(each.keys for each in self._parts)
        self.complete = all(part.complete for part in self._parts)

    def expect(self, sample: Sequence[bytes], total: int) -> None:
        """Set `expected` by a sample of the table's keys."""
        for part in self._parts:
            part.expect(sample, total)
        self.expected = sum(part.expected or 0 for part in self._parts)

    def _expected_now(self) -> float | None:
        """Return `expected`, corrected by the keys counted since in each part."""
        if self.expected is None:
            return None
        return sum(max(part.keys, 0 if part.complete else part.expected or 0) for part in self._parts)

    @property
    def cost(self) -> float:
        """Return the cost of the expected keys."""
        return sum(part.cost for part in self._parts)

    def rows(self) -> tuple[bytes, ...] | None:
        """Return the keys of the rows that indexes lead to, in order, or None if they are not known."""
        counted = [part.counted for part in self.by_index]
        if not all(part.complete for part in self.by_index) or sum(map(len, counted)) > MAX_CACHED_ROWS:
            return None
        return unite_keys(self.plan, counted)


def only_gets(plan: ScanPlan) -> bool:
    """Return whether a plan reads single keys only, so that their number is known."""
    return all(scan.kind == "get" for scan in plan.scans)


def scaled(hits: int, sample: Sequence[bytes], total: int) -> float:
    """Return the estimated number of such keys in a table of `total` keys, given the hits in its sample."""
    return (hits + 0.5) / (len(sample) + 1) * total
