"""The query cache: partitions and files of recent selections, for further questions about the same table.

One query asks about a version of a table several times: for its aggregates, for its scan, and again when
runtime values of a join arrive. Each question has the conditions of the last one, or more:

| question    | conditions                         | from      | partitions |
|-------------|------------------------------------|-----------|------------|
| `Aggregate` | `p IN (1, 2)`                      | metastore | 2          |
| `PlanScan`  | `p IN (1, 2)`                      | cache     | 2          |
| `PlanScan`  | `p IN (1, 2) AND p IN (2, 7, 9)`   | cache     | 1          |

So the cached partitions for some conditions are narrowed by the other conditions. The report names the
effective conditions as if all had been asked at once. If partitions have many files, the files that
remain after open conditions are cached as well. Judging few files again takes no longer than a lookup.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from parquetry.metastore import FileBlock, PartitionSnapshot, RangedPartitions, TableSnapshot
from parquetry.predicate import TRUE, And, Compare, Filter, IsNull, KnownValues, Match, Not, Predicate, match
from parquetry.prune.condition import Condition
from parquetry.prune.report.scan import Step
from parquetry.types import Value

MIN_CACHED_FILES = 1000
"""Files that a selection must have judged to be cached; fewer are judged again in the same time."""
_CACHED_FILE_SELECTIONS = 8
_MAX_CACHED_FILE_BYTES = 32 << 20
"""Estimated bytes of all cached files together."""
_BYTES_PER_FILE, _BYTES_PER_COLUMN = 200, 60
"""Estimated bytes of a file's path and numbers, and of one column's statistics in it."""

_FileKey = tuple[tuple[bytes, int, str], tuple[tuple[Predicate, str, str, frozenset[str]], ...]]


class PrunedFiles(NamedTuple):
    """The remaining files of some partitions.

    Attributes:
        partitions: the partitions in key order.
        projected: the columns whose statistics the blocks have, or None for all.
        blocks: the remaining files.
        certain: whether every row of these files satisfies all of the conditions.
        step: the step of the report.
        remaining: the partitions that the blocks count by, or None if these are `partitions`.
    """

    partitions: Sequence[PartitionSnapshot]
    projected: frozenset[str] | None
    blocks: Sequence[FileBlock]
    certain: bool
    step: Step
    remaining: Sequence[PartitionSnapshot] | None = None

    @property
    def bytes(self) -> int:
        """Return the estimated memory in bytes."""
        columns = 0 if self.projected is None else len(self.projected)
        return sum(block.count for block in self.blocks) * (_BYTES_PER_FILE + _BYTES_PER_COLUMN * columns)


class FileCache:
    """A cache of remaining files by table, version and open conditions; several threads may use it."""

    def __init__(self) -> None:
        self._entries: OrderedDict[_FileKey, PrunedFiles] = OrderedDict()
        self._lock = threading.Lock()

    def find(
        self,
        snapshot: TableSnapshot,
        conditions: Sequence[Condition],
        partitions: Sequence[PartitionSnapshot],
        projected: frozenset[str] | None,
    ) -> PrunedFiles | None:
        """Return the cached files of partitions that remain after conditions, or None if they are not cached.

        Args:
            snapshot: the version of the table.
            conditions: the open conditions, joined by AND.
            partitions: partitions of the version.
            projected: the columns whose statistics are wanted, or None for all.
        """
        key = _key(snapshot, conditions)
        with self._lock:
            pruned = self._entries.get(key)
            if (
                pruned is None
                or not _covers(pruned.projected, projected)
                or not _same(pruned.partitions, partitions)
            ):
                return None
            self._entries.move_to_end(key)
            return pruned

    def keep(self, snapshot: TableSnapshot, conditions: Sequence[Condition], pruned: PrunedFiles) -> None:
        """Cache the remaining files, unless they are too large."""
        if pruned.bytes > _MAX_CACHED_FILE_BYTES:
            return
        key = _key(snapshot, conditions)
        with self._lock:
            self._entries.pop(key, None)
            self._entries[key] = pruned
            while (
                len(self._entries) > _CACHED_FILE_SELECTIONS
                or sum(each.bytes for each in self._entries.values()) > _MAX_CACHED_FILE_BYTES
            ):
                self._entries.popitem(last=False)


def _key(snapshot: TableSnapshot, conditions: Sequence[Condition]) -> _FileKey:
    identity = ((each.filter.node, each.text, each.origin, each.about) for each in conditions)
    return snapshot.identity, tuple(identity)


def _covers(projected: frozenset[str] | None, wanted: frozenset[str] | None) -> bool:
    return projected is None or (wanted is not None and wanted <= projected)


def _same(one: Sequence[PartitionSnapshot], other: Sequence[PartitionSnapshot]) -> bool:
    if isinstance(one, RangedPartitions) or isinstance(other, RangedPartitions):
        return (
            isinstance(one, RangedPartitions)
            and isinstance(other, RangedPartitions)
            and one.plan == other.plan
        )
    key = attrgetter("key")
    return len(one) == len(other) and all(map(bytes.__eq__, map(key, one), map(key, other)))


_CACHED_PARTITION_SELECTIONS = 16
_MAX_CACHED_PARTITION_BYTES = 32 << 20
"""Bytes of all cached partitions' records together."""
MAX_NARROWED_PARTITIONS = 1000
"""Cached partitions that are narrowed by further conditions; for more, seeking their keys takes less time."""


class CachedPartitions(NamedTuple):
    """Partitions in key order.

    Attributes:
        same: whether they are exactly the wanted ones, and do not include others.
        seeks: the seeks of the skip scan that found them.
    """

    partitions: Sequence[PartitionSnapshot]
    same: bool
    seeks: int = 0


class _CacheEntry(NamedTuple):
    """Partitions in key order, the size of their records in bytes, and the seeks that found them."""

    partitions: tuple[PartitionSnapshot, ...]
    bytes: int
    seeks: int


_PartitionKey = tuple[tuple[bytes, int, str], frozenset[Predicate]]


class PartitionCache:
    """A cache of partitions by table, version and conditions; several threads may use it.

    Attributes:
        files: the cache of remaining files.
    """

    def __init__(self) -> None:
        self.files = FileCache()
        self._entries: OrderedDict[_PartitionKey, _CacheEntry] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def find(self, snapshot: TableSnapshot, filters: Iterable[Filter]) -> CachedPartitions | None:
        """Return cached partitions that include all that can satisfy conditions, or None if none are cached.

        Args:
            snapshot: the version of the table.
            filters: the conditions, weakened to partition columns and joined by AND.

        Raises:
            TableNotFoundError: the table was dropped, or this version vacuumed away.
        """
        wanted, identity = _conjuncts(filters), snapshot.identity
        with self._lock:
            best = (identity, wanted)
            entry = self._entries.get(best)
            for key, other in () if entry is not None else self._entries.items():
                if (
                    key[0] == identity
                    and len(other.partitions) <= MAX_NARROWED_PARTITIONS
                    and (entry is None or len(other.partitions) < len(entry.partitions))
                    and _implied(key[1], wanted)
                ):
                    best, entry = key, other
            if entry is None:
                return None
            self._entries.move_to_end(best)
        snapshot.check_kept()
        return CachedPartitions(entry.partitions, best[1] == wanted, entry.seeks)

    def keep(
        self,
        snapshot: TableSnapshot,
        filters: Iterable[Filter],
        partitions: Sequence[PartitionSnapshot],
        seeks: int = 0,
    ) -> None:
        """Cache the partitions for conditions, unless their records are too large."""
        size = sum([partition.record_bytes for partition in partitions])
        if size > _MAX_CACHED_PARTITION_BYTES:
            return
        key = (snapshot.identity, _conjuncts(filters))
        with self._lock:
            self._drop(key)
            self._entries[key] = _CacheEntry(tuple(partitions), size, seeks)
            self._bytes += size
            while (
                self._bytes > _MAX_CACHED_PARTITION_BYTES or len(self._entries) > _CACHED_PARTITION_SELECTIONS
            ):
                self._drop(next(iter(self._entries)))

    def _drop(self, key: _PartitionKey) -> None:
        entry = self._entries.pop(key, None)
        self._bytes -= 0 if entry is None else entry.bytes


def rejects(predicates: Iterable[Predicate], column: str, value: Value) -> bool:
    """Return whether at least one condition is TRUE for no row with a value, or with NULL, in a column."""
    values = KnownValues((column,), [(value,)])
    return any(match(Filter(each), values)[0] == Match.CANNOT for each in predicates)


def rejects_null(predicates: Iterable[Predicate], column: str) -> bool:
    """Return whether at least one condition is TRUE for no row with NULL in a column."""
    others = []
    for each in predicates:
        if isinstance(each, Compare) and each.column == column and each.op != "<=>":
            return True  # of most queries; the others need an evaluation
        others.append(each)
    return rejects(others, column, None)


def _conjuncts(filters: Iterable[Filter]) -> frozenset[Predicate]:
    return frozenset(node for filter in filters for node in _parts(filter.node) if node != TRUE)


def _parts(node: Predicate) -> Iterator[Predicate]:
    if isinstance(node, And):
        for child in node.children:
            yield from _parts(child)
    else:
        yield node


def _implied(cached: frozenset[Predicate], wanted: frozenset[Predicate]) -> bool:
    """Return whether wanted conditions imply the cached; Spark may add `c IS NOT NULL` to `c = 1`."""
    for node in cached - wanted:
        match node:
            case Not(IsNull(column)) if rejects_null(wanted, column):
                continue
        return False
    return True
