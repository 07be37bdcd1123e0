"""Survey the partitions of a version in one pass: some hundred cells in the order of keys, and the extremes.

A cell is the same number of neighbouring partitions. It has sums, so a table of a million partitions takes as
much of the browser as one of a hundred. The pass holds some thousand partitions at a time.

The age of a partition is the time of the version that wrote it last. Versions that a vacuum took have no time
any more, so these partitions are older than the oldest version that can be read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquetry.metastore import PartitionNumbers, TableSnapshot, history, partition_numbers
from parquetry.texts import quantity, size_text

MAX_CELLS = 480
"""Cells of an answer, at most: as many as a wide screen shows side by side."""
_MAX_NAMED_PARTITIONS = 5
"""Partitions that are named for their size."""
UNEVEN = 20
"""How many times the median a partition's size is, at least, to be called uneven."""
_MIN_UNEVEN_BYTES = 64 << 20
"""Bytes of a partition, at least, to be called uneven: smaller ones cost a query little."""
_MIN_COMPARED = 3
"""Partitions without which none is larger than usual."""
_NO_TICKET = 1 << 62

_Numbers = NDArray[np.int64]


class Survey:
    """The partitions of a version, added up cell by cell.

    Args:
        snapshot: the version.
        cells: how many cells at most.

    Attributes:
        keys: of each cell's first partition and last one.
        sums: for each cell the number of partitions, files, known rows, partitions whose rows are not
            counted, and bytes.
        tickets: for each cell the least and the greatest ticket of a partition's row.
        largest: sizes and keys of the largest partitions, the largest first.
    """

    def __init__(self, snapshot: TableSnapshot, cells: int = MAX_CELLS) -> None:
        self.snapshot = snapshot
        self._total = max(1, snapshot.totals.partitions)
        self._wanted = max(1, min(cells, MAX_CELLS, self._total))
        self.keys: list[list[bytes]] = []
        self.sums = np.zeros((5, self._wanted), np.int64)
        self.tickets = np.array([[_NO_TICKET] * self._wanted, [0] * self._wanted], np.int64)
        self.largest: list[tuple[int, bytes]] = []
        self._digits = np.zeros(64, np.int64)
        position = 0
        for some in partition_numbers(snapshot):
            self._add(some, position)
            position += len(some.keys)

    def _add(self, some: PartitionNumbers, position: int) -> None:
        count = len(some.keys)
        cells = np.minimum(
            np.arange(position, position + count) * self._wanted // self._total, self._wanted - 1
        )
        here, firsts = np.unique(cells, return_index=True)
        lasts = [*(firsts[1:] - 1).tolist(), count - 1]
        for cell, first, last in zip(here.tolist(), firsts.tolist(), lasts, strict=True):
            if cell == len(self.keys):
                self.keys.append([some.keys[first], b""])
            self.keys[-1][1] = some.keys[last]
        unknown = some.rows < 0
        added = (np.ones(count, np.int64), some.files, np.where(unknown, 0, some.rows), unknown, some.bytes)
        for sums, numbers in zip(self.sums, added, strict=True):
            sums[here] += np.add.reduceat(numbers.astype(np.int64), firsts)
        self.tickets[0, here] = np.minimum(self.tickets[0, here], np.minimum.reduceat(some.tickets, firsts))
        self.tickets[1, here] = np.maximum(self.tickets[1, here], np.maximum.reduceat(some.tickets, firsts))
        np.add.at(self._digits, np.frexp(some.bytes.astype(np.float64))[1], 1)
        most = np.argsort(some.bytes, kind="stable")[-_MAX_NAMED_PARTITIONS:]
        self.largest += [(int(some.bytes[number]), some.keys[number]) for number in most.tolist()]
        self.largest = sorted(self.largest, key=lambda pair: -pair[0])[:_MAX_NAMED_PARTITIONS]

    @property
    def median(self) -> int:
        """Return about how many bytes a partition in the middle has, to a factor of the square root of 2."""
        digits = int(np.searchsorted(np.cumsum(self._digits), self._digits.sum() / 2))
        return int(2 ** (digits - 0.5)) if digits else 0

    def uneven(self) -> str | None:
        """Return what is uneven in the sizes of partitions, in words, or None."""
        totals = self.snapshot.totals
        if totals.partitions < _MIN_COMPARED or not self.largest:
            return None
        size, key = self.largest[0]
        if size < _MIN_UNEVEN_BYTES or size < UNEVEN * self.median:
            return None
        share = 100 * size / max(1, totals.bytes)
        return (
            f"{self.snapshot.describe(key)} has {size_text(size)}, {share:.0f} % of the table; half of the "
            f"{quantity(totals.partitions, 'partition')} have less than some {size_text(self.median)}"
        )

    def answer(self) -> dict[str, Any]:
        """Return the survey as JSON has it: a list for each number of the cells."""
        snapshot, times = self.snapshot, _WritingTimes(self.snapshot)
        count = len(self.keys)
        partitions, files, rows, uncounted, sizes = (each[:count].tolist() for each in self.sums)
        oldest, newest = (times.of_all(each[:count]) for each in self.tickets)
        return {
            "version": snapshot.version,
            "key": [first.hex() for first, _ in self.keys],
            "first": [snapshot.describe(first) for first, _ in self.keys],
            "last": [snapshot.describe(last) for _, last in self.keys],
            "partitions": partitions,
            "files": files,
            "rows": [
                None if unknown == all_ else known
                for known, unknown, all_ in zip(rows, uncounted, partitions, strict=True)
            ],
            "bytes": sizes,
            "oldest": oldest,
            "newest": newest,
            "median": self.median,
            "largest": [
                {"bytes": size, "key": key.hex(), "name": snapshot.describe(key)}
                for size, key in self.largest
            ],
        }


class _WritingTimes:
    """When tickets were committed: the readable versions of a table, by ticket.

    Args:
        snapshot: the newest version.
    """

    def __init__(self, snapshot: TableSnapshot) -> None:
        pairs = sorted((commit.ticket, commit.time) for commit in history(snapshot))
        self._tickets = np.array([ticket for ticket, _ in pairs], np.int64)
        self._times = np.array([time for _, time in pairs], np.int64)

    def of_all(self, tickets: _Numbers) -> list[int | None]:
        """Return the times in milliseconds since 1970, or None for versions that were vacuumed."""
        positions = np.minimum(np.searchsorted(self._tickets, tickets), len(self._tickets) - 1)
        known = self._tickets[positions] == tickets
        return [
            time if is_known else None
            for time, is_known in zip(self._times[positions].tolist(), known.tolist(), strict=True)
        ]
