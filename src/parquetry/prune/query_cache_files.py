"""Cache of the files that remain after open conditions, for the next question of the same query.

A query asks about the same files for its aggregate and for its scan, and a table that it reads twice is
planned twice. Few files are not cached: judging them again takes no longer than a lookup.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from parquetry.metastore import FileBlock, PartitionSnapshot, TableSnapshot
from parquetry.predicate import Predicate
from parquetry.prune.condition import Condition
from parquetry.prune.report.scan import Step

MIN_CACHED_FILES = 1000
"""Files that a selection must have judged to be cached; fewer are judged again in the same time."""
_MAX_CACHED_SELECTIONS = 8
_MAX_CACHED_BYTES = 32 << 20
"""Estimated bytes of all cached files together."""
_BYTES_PER_FILE, _BYTES_PER_COLUMN = 200, 60
"""Estimated bytes of a file's path and numbers, and of one column's statistics in it."""

_Key = tuple[bytes, int, tuple[tuple[Predicate, str, str, frozenset[str]], ...]]


class PrunedFiles(NamedTuple):
    """The remaining files of some partitions.

    Attributes:
        partitions: the partitions in key order.
        projected: the columns whose statistics the blocks have, or None for all.
        blocks: the remaining files.
        certain: whether every row of these files satisfies all of the conditions.
        step: the step of the report.
    """

    partitions: Sequence[PartitionSnapshot]
    projected: frozenset[str] | None
    blocks: Sequence[FileBlock]
    certain: bool
    step: Step

    @property
    def bytes(self) -> int:
        """Return the estimated memory in bytes."""
        columns = 0 if self.projected is None else len(self.projected)
        return sum(block.count for block in self.blocks) * (_BYTES_PER_FILE + _BYTES_PER_COLUMN * columns)


class FileCache:
    """A cache of remaining files by table, version and open conditions; several threads may use it."""

    def __init__(self) -> None:
        self._entries: OrderedDict[_Key, PrunedFiles] = OrderedDict()
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
        if pruned.bytes > _MAX_CACHED_BYTES:
            return
        key = _key(snapshot, conditions)
        with self._lock:
            self._entries.pop(key, None)
            self._entries[key] = pruned
            while (
                len(self._entries) > _MAX_CACHED_SELECTIONS
                or sum(each.bytes for each in self._entries.values()) > _MAX_CACHED_BYTES
            ):
                self._entries.popitem(last=False)


def _key(snapshot: TableSnapshot, conditions: Sequence[Condition]) -> _Key:
    identity = ((each.filter.node, each.text, each.origin, each.about) for each in conditions)
    return snapshot.id, snapshot.version, tuple(identity)


def _covers(projected: frozenset[str] | None, wanted: frozenset[str] | None) -> bool:
    return projected is None or (wanted is not None and wanted <= projected)


def _same(one: Sequence[PartitionSnapshot], other: Sequence[PartitionSnapshot]) -> bool:
    key = attrgetter("key")
    return len(one) == len(other) and all(map(bytes.__eq__, map(key, one), map(key, other)))
