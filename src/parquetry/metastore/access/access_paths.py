"""The choice of the access path that examines the fewest keys.

An access path reads the partitions of a filter by the partitions' own keys, by an index, or by a union of
both. If a filter bounds the own keys to some hundred or fewer, they are taken, and no index is looked at.

The metastore stores no statistics of values. Stores that count keys fast count the keys of each path
(`counted_paths`). In other stores, such as HBase, paths are compared in up to three steps:

1. **Count.** Keys of each path are counted in turn, up to a quarter of a percent of the table's keys. A path
   whose keys have all been counted wins once no other path can be shorter. Keys counted by an index need not
   be read again.
2. **Sample.** A sample of the table's keys (`sample_keys`) is tested against each path. Example: some 40
   seeks show that `region != 'eu'` reads three quarters of the table by either path.
3. **Count on.** If the sample favours an index, its entries are counted on while they stay fewer than the
   other paths' keys. If the sample is too coarse, because each path reads only a few hundredths of the table,
   all paths are counted in turn.

A filter that no index helps costs some 3 % more than it would without indexes. The chosen path is nearly
always the shortest. An entry of an index, or the row behind it, costs as much as three keys that are read in
order. A path that wins by estimates alone must be shorter by at least a tenth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from parquetry.keys import split_fields, successor
from parquetry.metastore.access.counted_paths import CountedPath, cheapest_by_counts, short_count
from parquetry.metastore.access.ways import (
    INDEXED_KEY_COST,
    AccessPath,
    IndexPath,
    KeyPath,
    UnionPath,
    only_gets,
    scaled,
)
from parquetry.metastore.partition_rows.visible_rows import Examined
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.predicate import Filter, columns_of
from parquetry.scan import IndexOrder, ScanPlan, Test, compile_residual, plan_by_index, plan_scan
from parquetry.scan.unions import unions
from parquetry.store import Range

PARTITIONS_PER_SAMPLED_KEY = 400
"""Partitions of the table per key of the sample, which has at least `MIN_SAMPLED_KEYS` keys."""
MIN_SAMPLED_KEYS = 16
MAX_RUNS = 16
"""Most runs of a sample. To find the beginning of a run takes two seeks."""
_GOLDEN_RATIO = 0.618_033_988_7
"""The fractional parts of its multiples are spread evenly over 0 to 1, however many are taken."""
_DIVIDED_BYTES = 8
"""Bytes behind the common prefix of two keys that are taken as a number, to divide the range between them."""


def sample_keys(snapshot: TableSnapshot, examined: Examined | None = None) -> list[bytes]:
    """Return keys of partitions in order, without repetition.

    The metastore stores no distribution of values. So the sample divides the bytes between the first and the
    last key into strata of equal width. It has a run of neighbouring keys from each stratum that is not
    empty.

    The first key of a stratum has the least values in all columns but the first, so a run that began there
    would be biased. A run begins somewhere among the keys with the same value in the first column.

    All runs count alike, however many keys their strata have. So an estimate can distinguish a tenth of the
    table from all of it, and no more. Keys from before a REPLACE TABLE that changed the partition columns do
    not belong to the sample.

    Args:
        snapshot: the version of the table.
        examined: counts the keys read.
    """
    size = max(MIN_SAMPLED_KEYS, snapshot.totals.partitions // PARTITIONS_PER_SAMPLED_KEY)
    listed = snapshot.visible.listed_keys()
    if listed is not None:
        return listed[:: max(1, len(listed) // size)]
    runs = min(MAX_RUNS, size // 4)
    starts = list(_starts(snapshot, runs, examined))
    ranges: list[Range] = [*pairwise(starts), *((start, None) for start in starts[-1:])]
    sampled: list[bytes] = []
    read = 0
    for range in ranges:
        keys, _ = snapshot.visible.keys([range], size // runs)
        read += len(keys)
        sampled += filter(snapshot.key_schema.fits, keys)
    if examined is not None:
        examined.keys += read
    return sampled


def _starts(snapshot: TableSnapshot, runs: int, examined: Examined | None) -> Iterator[bytes]:
    """Yield the key at which the run of each stratum begins, in order.

    The first value of this key is the first value of the stratum's first key.
    """
    width = len(snapshot.key_schema)
    first = next(snapshot.visible.first_keys([(b"", None)], examined), None)
    last = snapshot.last_key(b"", None)
    if first is None or last is None:
        return
    bounds = [first, *_between(first, last, [n / runs for n in range(1, runs)])]
    strata: list[Range] = [*pairwise(bounds), (bounds[-1], None)]
    before = b""
    keys = filter(snapshot.key_schema.fits, list(snapshot.visible.first_keys(strata, examined)))
    for number, key in enumerate(keys):
        value = split_fields(key, width)[0]
        end = snapshot.last_key(value, successor(value))
        inner = _between(key, end, [number * _GOLDEN_RATIO % 1]) if end is not None else []
        start = max(key, *inner) if inner else key
        if examined is not None:
            examined.keys += 1
        if start > before:
            yield start
            before = start


def _between(first: bytes, last: bytes, fractions: list[float]) -> list[bytes]:
    """Return bytes that divide the range between two keys at fractions, in order and without repetition."""
    common = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    low, high = (
        int.from_bytes(key[common : common + _DIVIDED_BYTES].ljust(_DIVIDED_BYTES, b"\0"))
        for key in (first, last)
    )
    numbers = {low + int((high - low) * fraction) for fraction in fractions} - {low}
    return [first[:common] + number.to_bytes(_DIVIDED_BYTES) for number in sorted(numbers) if number > low]


FIRST_COUNTED_KEYS, COUNT_GROWTH_FACTOR = 16, 4
"""Keys of each path that are counted in the first round, and the growth factor of a round."""
MIN_KEYS_BEFORE_SAMPLE, PARTITIONS_PER_KEY_BEFORE_SAMPLE = 64, 400
"""Keys counted before a sample is taken: 64, or one per 400 partitions of the table if that is more."""
MAX_INCONCLUSIVE_HITS = 3
"""Hits of a path in the sample. With so few, the sample cannot distinguish it from a path without hits."""
MAX_ESTIMATE_ERROR_FACTOR = 4
"""Limit of a path's keys as a multiple of its estimate. Beyond it, the path is given up."""
MAX_COST_SHARE = 0.9
"""Fraction of the estimated cost of the partitions' own keys. Another path must cost less to win by
estimates."""
MAX_TESTED_KEYS = 256
"""Counted keys that are tested, at most, to estimate the fraction of keys that satisfy the filter."""
MAX_PLAIN_GETS = 64
"""Lookups of single partitions. For so few, a search for a shorter path would cost more than it saves."""


def cheapest_plan(snapshot: TableSnapshot, filter: Filter, examined: Examined | None = None) -> ScanPlan:
    """Plan the reading of the partitions that may satisfy a filter.

    Args:
        snapshot: the version of the table.
        filter: a filter on partition columns only. Parts that cannot become key ranges become residuals.
        examined: counts the keys that the choice had to read.

    Returns:
        the plan that examines the fewest keys, as far as that is worth finding out, for
        `TableSnapshot.partitions` of this version.

    Raises:
        ColumnNotFoundError: the condition is about a column that is not a partition column.
    """
    schema = snapshot.key_schema
    by_key = plan_scan(filter, schema)
    if not snapshot.metadata.indexes or (len(by_key.scans) <= MAX_PLAIN_GETS and only_gets(by_key)):
        return by_key  # a few whole keys: looking for anything shorter would cost more
    costs = snapshot.visible.costs
    if costs is not None:
        keys = short_count(snapshot, by_key, costs)
        if keys is not None:
            return ScanPlan(by_key.scans, counted=keys)
    plans = _other_plans(snapshot, filter)
    if not plans:
        return by_key
    if costs is not None and costs.counted <= costs.tested:
        paths = [CountedPath(snapshot, plan, costs) for plan in (by_key, *plans)]
        return cheapest_by_counts(paths[0], paths[1:])
    ways = [(UnionPath if plan.by_indexes else IndexPath)(snapshot, plan) for plan in plans]
    own = KeyPath(snapshot, by_key)
    best = _PathChoice(snapshot, own, ways, compile_residual(filter, schema), examined).best()
    estimates = tuple(way.estimate() for way in (*ways, own))
    return replace(best.plan, estimates=estimates, row_keys=best.rows())


def _other_plans(snapshot: TableSnapshot, filter: Filter) -> list[ScanPlan]:
    """Return the plans of a filter that use indexes."""
    schema = snapshot.key_schema
    about = columns_of(filter.node)
    indexes = [
        IndexOrder(index.name, index.id, index.order)
        for index in snapshot.metadata.indexes
        if index.ready and schema.fields[index.order[0]].name in about
    ]
    plans = [plan_by_index(filter, schema, index) for index in indexes]
    return [*(plan for plan in plans if plan.scans and not plan.whole), *unions(filter, schema, indexes)]


class _PathChoice:
    """The choice between the partitions' own keys and other access paths.

    Args:
        snapshot: the version of the table.
        own: the path by the partitions' own keys.
        others: the other paths, at least one.
        test: returns whether a partition's key satisfies the filter, or may.
        examined: counts the keys read.
    """

    def __init__(
        self,
        snapshot: TableSnapshot,
        own: KeyPath,
        others: Sequence[AccessPath],
        test: Test,
        examined: Examined | None,
    ) -> None:
        self._snapshot = snapshot
        self._own = own
        self._ways = [own, *others]
        self._test = test
        self._examined = examined

    def best(self) -> AccessPath:
        """Return the shortest path, or the partitions' own keys if little effort finds no shorter one."""
        total = self._snapshot.totals.partitions
        best = self._counted(
            self._ways, max(MIN_KEYS_BEFORE_SAMPLE, total // PARTITIONS_PER_KEY_BEFORE_SAMPLE)
        )
        if best is not None:
            return best
        sample = sample_keys(self._snapshot, self._examined)
        for way in self._ways:
            way.expect(sample, total)
        coarse = scaled(MAX_INCONCLUSIVE_HITS, sample, total)
        short = [way for way in self._ways if way.cost <= INDEXED_KEY_COST * coarse]
        if self._own in short:
            best = (
                None if self._is_dense() else self._counted(short, round(MAX_ESTIMATE_ERROR_FACTOR * coarse))
            )
            return self._own if best is None else best
        likely = min(self._ways, key=lambda way: way.cost)
        if likely.cost > MAX_COST_SHARE * self._own.cost or not self._entries_counted(likely):
            return self._own
        return likely

    def _counted(self, ways: Sequence[AccessPath], limit: int) -> AccessPath | None:
        """Count keys of paths in turn; return a complete one that no other can beat, or None at the limit."""
        upto = FIRST_COUNTED_KEYS
        while True:
            best: AccessPath | None = None
            for way in ways:
                way.count(upto if best is None else min(upto, best.keys), self._examined)
                if way.complete and (best is None or way.keys < best.keys):
                    best = way
            if best is not None and all(best.keys <= way.keys for way in ways):
                return best
            if upto >= limit:
                return None
            upto = min(upto * COUNT_GROWTH_FACTOR, limit)

    def _is_dense(self) -> bool:
        """Return whether so many of the counted own keys satisfy the filter that no index can gain."""
        counted = self._own.counted
        some = counted[:: 1 + len(counted) // MAX_TESTED_KEYS]
        keys = list(filter(self._snapshot.key_schema.fits, some))  # others are from before a REPLACE TABLE
        return 2 * INDEXED_KEY_COST * sum(map(self._test, keys)) >= len(keys) > 0

    def _entries_counted(self, way: AccessPath) -> bool:
        """Count the entries of a path's indexes until it loses; return whether all of them were counted."""
        parts = way.by_index if isinstance(way, UnionPath) else [way]
        for part in parts:
            limit = round(
                min(self._own.cost / INDEXED_KEY_COST, MAX_ESTIMATE_ERROR_FACTOR * max(part.cost, 1))
            )
            part.count(limit, self._examined)
        return all(part.complete for part in parts)
