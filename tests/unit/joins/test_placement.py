"""The choice of scans that are read in place, by the estimated cost of each plan."""

from __future__ import annotations

import itertools
import random

import pytest

from parquetry.joins.plan.graph import GraphJoin, GraphScan, GraphSide, PlanGraph
from parquetry.joins.plan.placement import choose_placement
from parquetry.joins.scans.buckets import can_read_as

MB = 1 << 20
Pair = tuple[int, int, bool]


def scan(count: int, size: int = 1000, outside: int = 0, *, larger: bool = False) -> GraphScan:
    """Return a scan of so many buckets; sizes are in MB."""
    return GraphScan(count, count, larger, bytes=size * MB, outside=outside * MB)


def join(left: int, lefts: list[int], right: int, rights: list[int], *pairs: Pair) -> GraphJoin:
    """Return a join of sides of so many MB."""
    return GraphJoin(GraphSide(left * MB, lefts), GraphSide(right * MB, rights), list(pairs))


def placed(
    scans: list[GraphScan], *joins: GraphJoin, cores: int = 4, unions: list[list[int]] | None = None
) -> list[int]:
    """Return the choice."""
    return choose_placement(PlanGraph(scans, list(joins), unions or [], cores))


def test_one_side_is_read_in_place() -> None:
    """A side in buckets stays where it is, if the other is in none, or in buckets by another hash."""
    assert placed([scan(8)], join(1000, [0], 100, [])) == [8]
    assert placed([scan(8), scan(16, 100)], join(1000, [0], 100, [1])) == [8, 0]
    assert placed([scan(8, 100), scan(16)], join(100, [0], 1000, [1])) == [0, 16]


def test_too_few_buckets_are_not_worth_it() -> None:
    """One bucket is one task: for many cores, shuffling both sides costs less, unless one side is large."""
    assert placed([scan(1)], join(1000, [0], 100, []), cores=64) == [0]
    assert placed([scan(1, 10)], join(10, [0], 10, []), cores=2) == [1]
    assert placed([scan(32)], join(1000, [0], 100, []), cores=64) == [32]


def test_a_rest_is_shuffled() -> None:
    """Both scans are read in place if one has files outside its buckets."""
    assert placed([scan(8, 900, 100), scan(8)], join(1000, [0], 1000, [1], (0, 1, False))) == [8, 8]


@pytest.mark.parametrize("cores", [1, 2, 4, 64])
def test_spark_keeps_the_joins_that_it_solves(cores: int) -> None:
    """Tables with the same number of buckets are left to Spark."""
    assert placed([scan(8), scan(8)], join(1000, [0], 1000, [1], (0, 1, True)), cores=cores) == [0, 0]


def test_the_larger_number_for_a_small_table() -> None:
    """Where the smaller number leaves cores idle, a small table is read again for the larger number.

    A larger table is shuffled to it.
    """
    one_to_n = [scan(16), scan(1, 1)]
    assert placed(one_to_n, join(1000, [0], 1, [1], (0, 1, True))) == [16, 16]
    assert placed([scan(16), scan(2, 1)], join(1000, [0], 1, [1], (0, 1, True)), cores=2) == [0, 0]
    assert placed([scan(16), scan(2, 1)], join(1000, [0], 1, [1], (0, 1, True)), cores=16) == [16, 16]


def test_numbers_without_a_common_divisor() -> None:
    """3 and 5 buckets meet in 15 if both are small, else the smaller side is shuffled."""
    small = [scan(3, 1), scan(5, 1)]
    assert placed(small, join(1, [0], 1, [1], (0, 1, True)), cores=2) == [15, 15]
    large = [scan(3, 100), scan(5, 5000)]
    assert placed(large, join(100, [0], 5000, [1], (0, 1, True)), cores=4) == [0, 5]


def test_a_chain_that_spark_cannot_fold() -> None:
    """4, 6 and 8 buckets are folded to 2 for all joins: Spark would shuffle for the second."""
    scans = [scan(4), scan(6), scan(8)]
    first = join(1000, [0], 1000, [1], (0, 1, True))
    second = join(2000, [0, 1], 1000, [2], (0, 2, True), (1, 2, True))
    assert placed(scans, first, second, cores=2) == [2, 2, 2]
    assert placed([scan(4), scan(8), scan(16)], first, second, cores=2) == [0, 0, 0]


def test_a_union_is_in_place_as_a_whole() -> None:
    """The parts of a UNION ALL are read in one number, such as their common multiple."""
    both = [scan(4), scan(8)]
    assert placed(both, join(2000, [0, 1], 100, []), unions=[[0, 1]]) == [4, 4]
    assert placed([scan(3, 1), scan(7, 1)], join(2, [0, 1], 1000, []), unions=[[0, 1]]) == [21, 21]
    assert placed([scan(3), scan(7)], join(2000, [0, 1], 100, []), unions=[[0, 1]]) == [0, 0]


def test_a_choice_can_be_read() -> None:
    """For any sizes, files can be read in the chosen number, and joined scans have the same number."""
    chance = random.Random(5)
    for _ in range(500):
        scans = [
            scan(chance.choice([1, 2, 3, 4, 6, 8, 16]), chance.randint(1, 3000), chance.choice([0, 0, 50]))
            for _ in range(chance.randint(2, 4))
        ]
        joins = []
        for left, right in itertools.pairwise(range(len(scans))):
            pairs = [(left, right, chance.random() < 0.5)] if chance.random() < 0.7 else []
            joins.append(join(scans[left].bytes // MB, [left], scans[right].bytes // MB, [right], *pairs))
        counts = placed(scans, *joins, cores=chance.choice([1, 4, 32]))
        assert all(
            not count or can_read_as(each.count, count) for each, count in zip(scans, counts, strict=True)
        )
        for each in joins:
            for left, right, _ in each.pairs:
                assert 0 in (counts[left], counts[right]) or counts[left] == counts[right]
