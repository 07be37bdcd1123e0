"""Decide which buckets of a join are read by several tasks.

A join in buckets has a task for each bucket, so one key with half of the rows leaves half of the work to one
task. The metastore knows the rows of each bucket before the query runs. A hot bucket is split: each of its
tasks reads a part of its rows, and all of the other side's bucket.

**Where it is right.** Each row of the split side is in one task, and meets all rows that it can meet. Rows of
the other side are in several tasks: a join that passes them on without a match, or once, would have them
several times. So the split side of an outer, semi or anti join is the preserved one, and a FULL join has
none. The bridge says which sides may be split (`bridge/splitting/SplitHotBuckets.scala`).

**Where it pays.** The time of a join is estimated: its longest task's, or all tasks' on all cores,
whichever is longer. Work is counted in rows of both sides. To split must save a fifth of that: on
two cores and with a key of half of the rows it saves nothing, as the other half keeps the second core busy.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import UNKNOWN

MAX_SPLIT_COUNT = 1024
"""The most buckets of a table whose sizes are sent to the bridge with a scan."""

HOT_FACTOR = 2.0
"""How many times as many rows as the average bucket a hot one has, at least."""

MIN_GAIN = 0.2
"""The least part of the time that a split has to save."""

MAX_PIECES = 64
"""The most tasks of one bucket."""

READ_SHARE = 0.25
"""The part of the work on a row that reading is assumed to take, without a measurement. Each task of an
interleaved bucket reads all of its rows.
"""

MIN_RANGE_BYTES = 256 << 20
"""The fewest bytes of a file that is divided into ranges. A smaller one may be a single row group."""


class BucketSizes(msgspec.Struct, frozen=True):
    """The rows, bytes and files of each bucket of a scan."""

    rows: list[int]
    bytes: list[int]
    files: list[int]

    def is_hot(self, bucket: int, least: int) -> bool:
        """Return whether a bucket has far more rows than the average, and at least so many."""
        rows = self.rows[bucket]
        return rows >= max(least, 1) and rows * len(self.rows) > HOT_FACTOR * sum(self.rows)

    def hot_buckets(self, least: int) -> list[int]:
        """Return the buckets that are hot, the largest first."""
        hot = [bucket for bucket in range(len(self.rows)) if self.is_hot(bucket, least)]
        return sorted(hot, key=lambda bucket: -self.rows[bucket])


class SplitSide(msgspec.Struct, frozen=True):
    """A scan of a join in buckets, or of several joins in the same buckets.

    Attributes:
        table: its name.
        sizes: of its buckets.
        least: the fewest rows of a bucket that is split, by the table's setting.
        reason: why its rows must not be in several tasks, or None if they may be.
    """

    table: str
    sizes: BucketSizes
    least: int
    reason: str | None = None


class SplitCandidate(msgspec.Struct, frozen=True):
    """The scans of a join in buckets, two or more, and the number of tasks that run at once."""

    sides: list[SplitSide]
    cores: int


class BucketPieces(msgspec.Struct, frozen=True):
    """The tasks of a bucket.

    Attributes:
        bucket: its number.
        pieces: how many tasks read it.
        interleaved: whether each task reads all files, and uses every n-th batch of rows; else each reads its
            own files and ranges of files.
    """

    bucket: int
    pieces: int
    interleaved: bool


class SplitDecision(msgspec.Struct, frozen=True):
    """The buckets of a join that are split.

    Attributes:
        side: the position of the scan whose buckets are split, or None if none is.
        buckets: the split buckets.
        texts: for each scan what EXPLAIN and the report say, or None.
    """

    side: int | None
    buckets: list[BucketPieces]
    texts: list[str | None]


def bucket_sizes(
    of_files: NDArray[np.int64], rows: NDArray[np.int64], sizes: NDArray[np.int64], count: int
) -> BucketSizes | None:
    """Return the sizes of a scan's buckets, or None if rows of a file are unknown or there are many buckets.

    Args:
        of_files: the bucket of each file.
        rows: of each file, or UNKNOWN.
        sizes: the bytes of each file.
        count: the number of buckets.

    >>> bucket_sizes(np.array([0, 2, 0]), np.array([5, 6, 7]), np.array([50, 60, 70]), 3)
    BucketSizes(rows=[12, 0, 6], bytes=[120, 0, 60], files=[2, 0, 1])
    """
    if not 1 < count <= MAX_SPLIT_COUNT or (rows == UNKNOWN).any():
        return None
    summed = [np.bincount(of_files, values, count).astype(np.int64).tolist() for values in (rows, sizes)]
    return BucketSizes(summed[0], summed[1], np.bincount(of_files, minlength=count).tolist())


def decide_split(join: SplitCandidate) -> SplitDecision:
    """Decide which side of a join is split, and which buckets, or give the reason if none are.

    >>> hot, even = BucketSizes([900, 50, 50], [9, 1, 1], [8, 1, 1]), BucketSizes([10, 10, 10], [1, 1, 1], [1, 1, 1])
    >>> join = SplitCandidate([SplitSide("l", hot, 100), SplitSide("r", even, 100)], cores=4)
    >>> decide_split(join).buckets
    [BucketPieces(bucket=0, pieces=4, interleaved=False)]
    """
    tried = [(i, _pieces(join, i)) for i, side in enumerate(join.sides) if side.reason is None]
    before = _time(join, 0, [])
    times = [(_time(join, side, pieces), side, pieces) for side, pieces in tried if pieces]
    best = min(times, default=None, key=lambda each: each[:2])
    if best is not None and best[0] <= (1 - MIN_GAIN) * before:
        _, side, pieces = best
        return SplitDecision(side, pieces, _texts(join, side, pieces))
    return SplitDecision(None, [], _refusals(join))


def _pieces(join: SplitCandidate, side: int) -> list[BucketPieces]:
    """Return the numbers of tasks for the hot buckets of a side that make the join as short as possible."""
    split, sizes = join.sides[side], join.sides[side].sizes
    pieces: list[BucketPieces] = []
    for bucket in sizes.hot_buckets(split.least):
        tried = [
            [*pieces, BucketPieces(bucket, count, _interleaved(sizes, bucket, count))]
            for count in range(2, min(join.cores, MAX_PIECES) + 1)
        ]
        shortest = min(tried, default=pieces, key=lambda each: _time(join, side, each))
        if _time(join, side, shortest) < _time(join, side, pieces):
            pieces = shortest
    return pieces


def _interleaved(sizes: BucketSizes, bucket: int, pieces: int) -> bool:
    files = sizes.files[bucket]
    return files < 2 * pieces and sizes.bytes[bucket] < MIN_RANGE_BYTES * files


def _time(join: SplitCandidate, side: int, pieces: Sequence[BucketPieces]) -> float:
    """Return the time of a join, in rows that one core has to read and join."""
    split = join.sides[side].sizes.rows
    others = (each.sizes.rows for i, each in enumerate(join.sides) if i != side)
    other = [sum(rows) for rows in zip(*others, strict=True)]
    tasks: list[tuple[float, int]] = [
        (rows + opposite, 1) for rows, opposite in zip(split, other, strict=True)
    ]
    for each in pieces:
        rows, opposite = split[each.bucket], other[each.bucket]
        again = READ_SHARE * rows * (1 - 1 / each.pieces) if each.interleaved else 0
        tasks[each.bucket] = (rows / each.pieces + again + opposite, each.pieces)
    return max(max(time for time, _ in tasks), sum(time * count for time, count in tasks) / join.cores)


def _texts(join: SplitCandidate, side: int, pieces: Sequence[BucketPieces]) -> list[str | None]:
    sizes = join.sides[side].sizes
    own = ", ".join(
        f"bucket {each.bucket} with {sizes.rows[each.bucket] / sum(sizes.rows):.2f} of the rows in {each.pieces} tasks"
        for each in pieces
    )
    other = ", ".join(f"bucket {each.bucket} for each of {each.pieces} tasks" for each in pieces)
    return [own if i == side else other for i in range(len(join.sides))]


def _refusals(join: SplitCandidate) -> list[str | None]:
    """Return why the hot buckets of each scan are read by one task each, or None for a scan without any."""
    texts: list[str | None] = []
    for side in join.sides:
        hot = side.sizes.hot_buckets(side.least)
        if not hot:
            texts.append(None)
            continue
        share = side.sizes.rows[hot[0]] / sum(side.sizes.rows)
        why = side.reason or f"to split it saves too little on {join.cores} cores"
        texts.append(f"bucket {hot[0]} with {share:.2f} of the rows in one task: {why}")
    return texts
