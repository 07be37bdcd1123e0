"""Partitions that recent questions found, for the questions about the same table that follow.

One query asks several times of one version of a table: for its aggregates, for what it reads, and again when a join has found
values. Each time it asks for the same and more:

    Aggregate   p IN (1, 2)                          the metastore is read    2 partitions
    PlanScan    p IN (1, 2)                          nothing is read          2
    PlanScan    p IN (1, 2) AND p IN (2, 7, 9)       nothing is read          1

So what was found for some conditions is narrowed by the others. Which conditions served is told as if all had been asked at
once. What is left of their files, where there are many, is kept beside them (`query_cache_files`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from parquetry.metastore.versions import PartitionSnapshot, TableSnapshot
from parquetry.predicate import TRUE, And, Filter, IsNull, Not, Predicate
from parquetry.predicate.pruning import KnownValues, Match
from parquetry.predicate.pruning.match import match
from parquetry.prune.query_cache_files import FileCache

_MAX_CACHED_SELECTIONS = 16
_MAX_CACHED_BYTES = 32 << 20
"""Of the partitions' records, all together."""
MAX_NARROWED_PARTITIONS = 1000
"""Partitions whose values are tested in less time than their keys are sought."""


class CachedPartitions(NamedTuple):
    """Partitions in key order, and whether they are `same` as those in question or have others among them."""

    partitions: Sequence[PartitionSnapshot]
    same: bool


class _CacheEntry(NamedTuple):
    """Partitions in key order, and how many bytes their records have."""

    partitions: tuple[PartitionSnapshot, ...]
    bytes: int


_Key = tuple[bytes, int, frozenset[Predicate]]


class PartitionCache:
    """Partitions by table, version and the conditions that they were found by; may be used by several threads.

    Attributes:
        files: what was left of the files of many.
    """

    def __init__(self) -> None:
        self.files = FileCache()
        self._entries: OrderedDict[_Key, _CacheEntry] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def find(self, snapshot: TableSnapshot, filters: Iterable[Filter]) -> CachedPartitions | None:
        """Return partitions among which are all that can satisfy conditions; None: not at hand.

        Args:
            snapshot: the version of the table.
            filters: what the conditions say of partition columns, joined by AND.

        Raises:
            TableNotFoundError: the table was dropped, or this version vacuumed away.
        """
        wanted = _conjuncts(filters)
        with self._lock:
            best = None
            for key, entry in self._entries.items():
                if key[:2] != (snapshot.id, snapshot.version):
                    continue
                same = key[2] == wanted
                if not same and (
                    len(entry.partitions) > MAX_NARROWED_PARTITIONS or not _implied(key[2], wanted)
                ):
                    continue
                if best is None or len(entry.partitions) < len(best[1].partitions):
                    best = key, entry
            if best is None:
                return None
            self._entries.move_to_end(best[0])
        snapshot.check_kept()
        return CachedPartitions(best[1].partitions, best[0][2] == wanted)

    def keep(
        self, snapshot: TableSnapshot, filters: Iterable[Filter], partitions: Sequence[PartitionSnapshot]
    ) -> None:
        """Keep the partitions that were found by conditions, unless they are too many."""
        size = sum([partition.record_bytes for partition in partitions])
        if size > _MAX_CACHED_BYTES:
            return
        key = (snapshot.id, snapshot.version, _conjuncts(filters))
        with self._lock:
            self._drop(key)
            self._entries[key] = _CacheEntry(tuple(partitions), size)
            self._bytes += size
            while self._bytes > _MAX_CACHED_BYTES or len(self._entries) > _MAX_CACHED_SELECTIONS:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: _Key) -> None:
        entry = self._entries.pop(key, None)
        self._bytes -= 0 if entry is None else entry.bytes


def rejects_null(predicates: Iterable[Predicate], column: str) -> bool:
    """Return whether one of some conditions holds for no row that has NULL in a column."""
    null = KnownValues((column,), [(None,)])
    return any(match(Filter(each), null)[0] == Match.CANNOT for each in predicates)


def _conjuncts(filters: Iterable[Filter]) -> frozenset[Predicate]:
    return frozenset(node for filter in filters for node in _parts(filter.node) if node != TRUE)


def _parts(node: Predicate) -> Iterator[Predicate]:
    if isinstance(node, And):
        for child in node.children:
            yield from _parts(child)
    else:
        yield node


def _implied(cached: frozenset[Predicate], wanted: frozenset[Predicate]) -> bool:
    """Return whether all that is asked satisfies what is known; Spark adds `c IS NOT NULL` to `c = 1` at times."""
    for node in cached - wanted:
        match node:
            case Not(IsNull(column)) if rejects_null(wanted, column):
                continue
        return False
    return True
