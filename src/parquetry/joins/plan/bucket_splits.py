"""Decide which buckets of a join are read by several tasks.

A join in buckets has a task for each bucket, so one key with half of the rows leaves half of the work to one
task. The metastore knows the rows of each bucket before the query runs. A hot bucket is split: each of its
tasks reads a part of its rows, and all of the other side's bucket.

**Where it is right.** Each row of the split side is in one task, and meets all rows that it can meet. Rows of
the other side are in several tasks: a join that passes them on without a match, or once, would have them
several times. So the split side of an outer, semi or anti join is the preserved one, and a FULL join has
none. The bridge says which sides may be split (`bridge/rowlayout/RowLayout.scala`).

**Where it pays.** The time of a join is estimated: its longest task's, or all tasks' on all cores,
whichever is longer. Work is counted in bytes of both sides (`cost`). To split must save a fifth of that: on
two cores and with a key of half of the rows it saves nothing, as the other half keeps the second core busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from parquetry.joins.plan.graph import HotScan, PlanGraph
from parquetry.joins.scans.buckets import BucketSizes

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


class _Side(NamedTuple):
    """A scan of a join in buckets, or of several joins in the same buckets.

    Attributes:
        sizes: of its buckets.
        work: of each bucket: its rows, as bytes of the join's average row (`cost`). Rows of a heavy value
            take few bytes in a file, and as much work as others.
        least: the fewest rows of a bucket that is split, by the table's setting.
        whole: why its rows must not be in several tasks, or None if they may be.
    """

    sizes: BucketSizes
    work: list[float]
    least: int
    whole: str | None


class _Candidate(NamedTuple):
    """The scans of a join in buckets, two or more, and the number of tasks that run at once."""

    sides: list[_Side]
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

    @classmethod
    def none(cls, scans: int) -> SplitDecision:
        """Return the decision for a number of scans whose buckets are not considered."""
        return cls(None, [], [None] * scans)


def decide_split(graph: PlanGraph, hot: Sequence[HotScan]) -> SplitDecision:
    """Decide which scan of a join is split, and which of its buckets, or give the reason if none are.

    Args:
        graph: the joins of a plan.
        hot: all scans of one of them, each with the sizes of its buckets.

    >>> from parquetry.joins.plan.graph import GraphScan
    >>> hot, even = BucketSizes([900, 50, 50], [900, 50, 50], [8, 1, 1]), BucketSizes([10] * 3, [10] * 3, [1] * 3)
    >>> scans = [GraphScan(3, 3, larger=False, sizes=sizes, least=100) for sizes in (hot, even)]
    >>> decide_split(PlanGraph(scans, [], cores=4), [HotScan(0), HotScan(1)]).buckets
    [BucketPieces(bucket=0, pieces=4, interleaved=False)]
    """
    join = _candidate(graph, hot)
    tried = [(i, _pieces(join, i)) for i, side in enumerate(join.sides) if side.whole is None]
    before = _time(join, 0, [])
    times = [(_time(join, side, pieces), side, pieces) for side, pieces in tried if pieces]
    best = min(times, default=None, key=lambda each: each[:2])
    if best is not None and best[0] <= (1 - MIN_GAIN) * before:
        _, side, pieces = best
        return SplitDecision(side, pieces, _texts(join, side, pieces))
    return SplitDecision(None, [], _refusals(join))


def _candidate(graph: PlanGraph, hot: Sequence[HotScan]) -> _Candidate:
    scans = [graph.scans[each.scan] for each in hot]
    sizes = [scan.sizes for scan in scans if scan.sizes is not None]
    assert len(sizes) == len(hot), "scans whose buckets may be split have their sizes"
    width = sum(sum(each.bytes) for each in sizes) / max(sum(sum(each.rows) for each in sizes), 1)
    return _Candidate(
        [
            _Side(own, [rows * width for rows in own.rows], scan.least, each.whole)
            for own, scan, each in zip(sizes, scans, hot, strict=True)
        ],
        graph.cores,
    )


def _pieces(join: _Candidate, side: int) -> list[BucketPieces]:
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


def _time(join: _Candidate, side: int, pieces: Sequence[BucketPieces]) -> float:
    """Return the time of a join, in bytes that one core has to read and join (`cost`)."""
    split = join.sides[side].work
    others = (each.work for i, each in enumerate(join.sides) if i != side)
    other = [sum(work) for work in zip(*others, strict=True)]
    tasks: list[tuple[float, int]] = [
        (work + opposite, 1) for work, opposite in zip(split, other, strict=True)
    ]
    for each in pieces:
        work, opposite = split[each.bucket], other[each.bucket]
        again = READ_SHARE * work * (1 - 1 / each.pieces) if each.interleaved else 0
        tasks[each.bucket] = (work / each.pieces + again + opposite, each.pieces)
    return max(max(time for time, _ in tasks), sum(time * count for time, count in tasks) / join.cores)


def _texts(join: _Candidate, side: int, pieces: Sequence[BucketPieces]) -> list[str | None]:
    sizes = join.sides[side].sizes
    own = ", ".join(
        f"bucket {each.bucket} with {sizes.rows[each.bucket] / sum(sizes.rows):.2f} of the rows in {each.pieces} tasks"
        for each in pieces
    )
    other = ", ".join(f"bucket {each.bucket} for each of {each.pieces} tasks" for each in pieces)
    return [own if i == side else other for i in range(len(join.sides))]


def _refusals(join: _Candidate) -> list[str | None]:
    """Return why the hot buckets of each scan are read by one task each, or None for a scan without any."""
    texts: list[str | None] = []
    for side in join.sides:
        hot = side.sizes.hot_buckets(side.least)
        if not hot:
            texts.append(None)
            continue
        share = side.sizes.rows[hot[0]] / sum(side.sizes.rows)
        why = side.whole or f"to split it saves too little on {join.cores} cores"
        texts.append(f"bucket {hot[0]} with {share:.2f} of the rows in one task: {why}")
    return texts
