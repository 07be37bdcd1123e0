"""Hot buckets are split between tasks where that is right, and where the join is faster by it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from parquetry.data_files import UNKNOWN
from parquetry.joins.plan.bucket_splits import MIN_RANGE_BYTES, BucketPieces, SplitDecision, decide_split
from parquetry.joins.plan.graph import GraphScan, HotScan, PlanGraph
from parquetry.joins.scans.buckets import MAX_SPLIT_COUNT, BucketSizes, bucket_sizes

Side = tuple[GraphScan, str | None]


def side(
    rows: list[int], files: int = 1, size: int | None = None, least: int = 100, reason: str | None = None
) -> Side:
    """Return a side of a join with so many rows in its buckets, and a kilobyte for each or `size` in all."""
    count = len(rows)
    sizes = [1000 * each if size is None else size for each in rows]
    return GraphScan(
        count, count, larger=False, sizes=BucketSizes(rows, sizes, [files] * count), least=least
    ), reason


def decide(*sides: Side, cores: int = 8) -> SplitDecision:
    """Return what is split of a join."""
    graph = PlanGraph([scan for scan, _ in sides], [], cores=cores)
    return decide_split(graph, [HotScan(position, reason) for position, (_, reason) in enumerate(sides)])


HALF = [1000, 143, 143, 143, 143, 143, 143, 142]
EVEN = [125] * 8


def test_a_key_with_half_of_the_rows_is_split() -> None:
    """Its bucket is read by several tasks, on the side that has it, and the texts say so."""
    for sides in ((side(HALF, files=16), side(EVEN)), (side(EVEN), side(HALF, files=16))):
        decision = decide(*sides)
        assert decision.side == (0 if sides[0][0].sizes.rows == HALF else 1)
        assert decision.buckets == [BucketPieces(0, 4, False)]
        assert decision.texts[decision.side] == "bucket 0 with 0.50 of the rows in 4 tasks"
        assert decision.texts[1 - decision.side] == "bucket 0 for each of 4 tasks"


@pytest.mark.parametrize(
    ("left", "right", "cores", "text"),
    [
        (side(EVEN), side(EVEN), 8, None),
        (side(HALF, least=1001), side(EVEN), 8, None),
        (side(HALF, files=16), side(EVEN), 1, "bucket 0 with 0.50 of the rows in one task: to split it saves too little on 1 cores"),
        (side(HALF, files=16), side(EVEN), 2, "bucket 0 with 0.50 of the rows in one task: to split it saves too little on 2 cores"),
        (side(HALF, files=16), side([9000, *EVEN[1:]], reason="no"), 8, "bucket 0 with 0.50 of the rows in one task: to split it saves too little on 8 cores"),
        (side(HALF, files=16, reason="a FULL join"), side(EVEN, reason="a FULL join"), 8, "bucket 0 with 0.50 of the rows in one task: a FULL join"),
    ],
)  # fmt: skip
def test_no_bucket_is_split(left: Side, right: Side, cores: int, text: str | None) -> None:
    """Even buckets, few rows, few cores, and a large bucket on the other side leave buckets whole; a hot one
    has the reason.
    """
    decision = decide(left, right, cores=cores)
    assert (decision.side, decision.buckets, decision.texts[0]) == (None, [], text)


def test_the_other_side_is_split_where_one_must_not_be() -> None:
    """If both sides have a hot bucket, and the left must not be split, the right is."""
    decision = decide(side(HALF, files=16, reason="no"), side([2 * rows for rows in HALF], files=16))
    assert decision.side == 1


def test_one_scan_of_three_is_split() -> None:
    """In joins of three tables in the same buckets, the two others are read by each task of the split one."""
    decision = decide(side(EVEN), side(HALF, files=16), side(EVEN, reason="no"))
    assert decision.side == 1
    (pieces,) = decision.buckets
    shared = f"bucket 0 for each of {pieces.pieces} tasks"
    assert decision.texts == [shared, f"bucket 0 with 0.50 of the rows in {pieces.pieces} tasks", shared]


def test_several_hot_buckets_are_split() -> None:
    """Each hot bucket has its own number of tasks."""
    decision = decide(side([4000, 2500, *[10] * 8], files=32), side([10] * 10), cores=16)
    assert {each.bucket for each in decision.buckets} == {0, 1}


@pytest.mark.parametrize(
    ("files", "size", "interleaved"),
    [(1, 1 << 20, True), (16, 1 << 20, False), (1, MIN_RANGE_BYTES, False), (1, MIN_RANGE_BYTES - 1, True)],
)
def test_few_small_files_are_interleaved(files: int, size: int, interleaved: bool) -> None:
    """Tasks read ranges of many or large files, and slices of few small ones, which may be one row group."""
    (pieces,) = decide(side(HALF, files=files, size=size), side(EVEN)).buckets
    assert pieces.interleaved is interleaved


def test_splits_always_save_a_fifth_and_keep_to_the_cores() -> None:
    """For random joins: only hot buckets are split, into no more tasks than cores, and the longest task is
    shorter by a fifth.
    """
    chance = random.Random(5)
    split = 0
    for _ in range(500):
        count = chance.randint(2, 20)
        rows = [[chance.choice([5, 50, 5000]) * chance.randint(0, 9) for _ in range(count)] for _ in range(2)]
        cores = chance.randint(1, 12)
        sides = [side(each, files=chance.choice([1, 50])) for each in rows]
        decision = decide(*sides, cores=cores)
        if decision.side is None:
            continue
        split += 1
        own, other = rows[decision.side], rows[1 - decision.side]
        tasks = [a + b for a, b in zip(own, other, strict=True)]
        longest = max(max(tasks), sum(tasks) / cores)
        for each in decision.buckets:
            assert 2 <= each.pieces <= cores
            assert own[each.bucket] * count > 2 * sum(own)
            tasks[each.bucket] = own[each.bucket] / each.pieces + other[each.bucket]
        assert max(tasks) <= 0.8 * longest
    assert split > 20


@pytest.mark.parametrize(
    ("rows", "count", "expected"),
    [
        ([], 2, BucketSizes([0, 0], [0, 0], [0, 0])),
        ([4, 5, 6], 3, BucketSizes([10, 0, 5], [20, 0, 10], [2, 0, 1])),
        ([4, UNKNOWN, 6], 3, None),
        ([4, 5, 6], 1, None),
        ([4, 5, 6], MAX_SPLIT_COUNT + 1, None),
    ],
)
def test_sizes_of_buckets(rows: list[int], count: int, expected: BucketSizes | None) -> None:
    """Rows, bytes and files are summed by bucket. They are unknown if rows of a file are, and are left out of
    a table of one bucket or of very many.
    """
    of_files = np.array([0, 2, 0][: len(rows)], np.int64)
    assert bucket_sizes(of_files, np.array(rows, np.int64), np.full(len(rows), 10), count) == expected
