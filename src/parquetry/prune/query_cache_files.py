"""What open conditions left of many files, for the next question of the same query.

A query asks about the same files for its aggregate and for its scan, and a table that it reads twice is planned twice.
Where there are few files, to judge them again takes no more time than to look here.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from parquetry.metastore.versions.file_blocks import FileBlock
from parquetry.metastore.versions.partition import Partition
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.predicate.nodes import Predicate
from parquetry.prune.condition import Condition
from parquetry.prune.report.scan import Step

MANY = 1000
"""Files, from which on what was found is kept."""
_KEPT = 8
_BYTES = 32 << 20
"""Of the files that were left, all together, by estimate: of a path and its numbers, and of a column's statistics."""
_OF_FILE, _OF_COLUMN = 200, 60

_Key = tuple[bytes, int, tuple[tuple[Predicate, str, str, frozenset[str]], ...]]


class Judged(NamedTuple):
    """What was left of the files of some partitions.

    Attributes:
        partitions: in key order.
        held: the columns of which statistics are held; None: all.
        blocks: the files.
        certain: whether every row of them satisfies all of the conditions.
        step: of the report.
    """

    partitions: Sequence[Partition]
    held: frozenset[str] | None
    blocks: Sequence[FileBlock]
    certain: bool
    step: Step

    @property
    def bytes(self) -> int:
        """Return how much memory this takes, by estimate."""
        columns = 0 if self.held is None else len(self.held)
        return sum(block.count for block in self.blocks) * (_OF_FILE + _OF_COLUMN * columns)


class RecentFiles:
    """What was left of files by table, version and open conditions; may be used by several threads."""

    def __init__(self) -> None:
        self._found: OrderedDict[_Key, Judged] = OrderedDict()
        self._lock = threading.Lock()

    def find(
        self,
        snapshot: TableSnapshot,
        conditions: Sequence[Condition],
        partitions: Sequence[Partition],
        held: frozenset[str] | None,
    ) -> Judged | None:
        """Return what conditions left of the files of partitions; None: not at hand.

        Args:
            snapshot: the version of the table.
            conditions: the open ones, joined by AND.
            partitions: of the version.
            held: the columns of which statistics are wanted; None: all.
        """
        key = _key(snapshot, conditions)
        with self._lock:
            found = self._found.get(key)
            if found is None or not _covers(found.held, held) or not _same(found.partitions, partitions):
                return None
            self._found.move_to_end(key)
            return found

    def keep(self, snapshot: TableSnapshot, conditions: Sequence[Condition], found: Judged) -> None:
        """Keep what was found, unless it is too much."""
        if found.bytes > _BYTES:
            return
        key = _key(snapshot, conditions)
        with self._lock:
            self._found.pop(key, None)
            self._found[key] = found
            while len(self._found) > _KEPT or sum(each.bytes for each in self._found.values()) > _BYTES:
                self._found.popitem(last=False)


def _key(snapshot: TableSnapshot, conditions: Sequence[Condition]) -> _Key:
    asked = ((each.filter.node, each.text, each.origin, each.about) for each in conditions)
    return snapshot.id, snapshot.version, tuple(asked)


def _covers(held: frozenset[str] | None, wanted: frozenset[str] | None) -> bool:
    return held is None or (wanted is not None and wanted <= held)


def _same(one: Sequence[Partition], other: Sequence[Partition]) -> bool:
    key = attrgetter("key")
    return len(one) == len(other) and all(map(bytes.__eq__, map(key, one), map(key, other)))
