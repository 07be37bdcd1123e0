"""Both sides of a join get one number of buckets, where Spark does not solve it by itself."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import pytest

from parquetry.joins.plan.bucket_counts import choose_bucket_counts
from parquetry.joins.plan.graph import GraphJoin, GraphScan, GraphSide, PlanGraph
from parquetry.joins.scans.buckets import can_read_as
from parquetry.metastore import open_metastore
from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.planner.protocol import codec


def scans(*counts: int, larger: bool = False) -> list[GraphScan]:
    """Return scans that Spark sees in the buckets of their files."""
    return [GraphScan(count, count, larger) for count in counts]


def join(left: list[int], right: list[int], columns: int = 1) -> GraphJoin:
    """Return a join of two sides in buckets."""
    return GraphJoin(GraphSide(reported=left), GraphSide(reported=right), columns=columns)


@pytest.mark.parametrize(
    ("few", "many", "columns", "larger", "foldable", "expected"),
    [
        (4, 4, 1, True, False, (4, 4)),
        (4, 6, 1, False, True, (4, 6)),
        (4, 6, 1, False, False, (2, 2)),
        (4, 6, 1, True, True, (4, 6)),
        (3, 6, 1, True, True, (6, 6)),
        (1, 6, 1, True, True, (6, 6)),
        (3, 6, 1, True, False, (6, 6)),
        (3, 6, 1, False, False, (3, 3)),
        (3, 7, 1, True, False, (3, 7)),
        (4, 6, 2, False, True, (2, 2)),
        (6, 9, 2, False, True, (6, 9)),
        (6, 9, 3, False, True, (3, 3)),
        (2, 4, 2, True, True, (4, 4)),
    ],
)  # fmt: skip
def test_two_scans_get_the_number_that_spark_cannot_find(
    few: int, many: int, columns: int, larger: bool, foldable: bool, expected: tuple[int, int]
) -> None:
    """The larger number if a table wants it and it is a multiple; the divisor if Spark cannot fold."""
    of = scans(few, many, larger=larger)
    assert choose_bucket_counts(PlanGraph(of, [join([0], [1], columns)], foldable=foldable)) == [*expected]
    of = scans(many, few, larger=larger)
    assert choose_bucket_counts(PlanGraph(of, [join([0], [1], columns)], foldable=foldable)) == [
        *reversed(expected)
    ]


def test_sorted_buckets_are_folded_by_their_scans() -> None:
    """Spark folds a table without an order; files of one that is sorted are merged as its scan folds them."""
    for foldable in (True, False):
        sorted_scan, other = GraphScan(8, 8, larger=False, ordered=True), GraphScan(4, 4, larger=False)
        assert choose_bucket_counts(PlanGraph([sorted_scan, other], [join([0], [1])], foldable=foldable)) == [
            4,
            4,
        ]
    fewer = GraphScan(4, 4, larger=False, ordered=True)
    graph = PlanGraph([fewer, GraphScan(8, 8, larger=False)], [join([0], [1])], foldable=True)
    assert choose_bucket_counts(graph) == [4, 8]


def test_one_table_that_wants_the_larger_number_is_enough() -> None:
    """The setting of either side's first scan counts, and no other scan's."""
    three, six = scans(3, 6)
    wanting = GraphScan(3, 3, larger=True)
    assert choose_bucket_counts(PlanGraph([wanting, six], [join([0], [1])], foldable=True)) == [6, 6]
    assert choose_bucket_counts(PlanGraph([six, wanting], [join([0], [1])], foldable=True)) == [6, 6]
    assert choose_bucket_counts(PlanGraph([three, wanting, six], [join([0, 1], [2])], foldable=True)) == [
        3,
        3,
        6,
    ]


def test_scans_that_are_joined_already_change_together() -> None:
    """A join above others counts with the numbers that they have chosen, and changes their scans, too."""
    joins = [join([0], [1]), join([0, 1], [2])]
    assert choose_bucket_counts(PlanGraph(scans(3, 6, 12, larger=True), joins, foldable=True)) == [12, 12, 12]
    assert choose_bucket_counts(PlanGraph(scans(8, 12, 6), joins, foldable=False)) == [2, 2, 2]


def test_files_are_read_in_no_number_that_they_cannot_have() -> None:
    """Files of 3 buckets that are read as 6 are not read as 2, which their scan's partner is."""
    graph = PlanGraph(scans(3, 6, 4, larger=True), [join([0], [1]), join([0, 1], [2])], foldable=False)
    assert choose_bucket_counts(graph) == [6, 2, 2]


def test_chosen_numbers_are_readable_and_never_split_a_pair_that_fits() -> None:
    """For all numbers up to 12, both sides get one number that fits their files, or keep their own."""
    for few, many, columns, larger, foldable in itertools.product(
        range(1, 13), range(1, 13), (1, 2, 3), (True, False), (True, False)
    ):
        of = scans(few, many, larger=larger)
        left, right = choose_bucket_counts(PlanGraph(of, [join([0], [1], columns)], foldable=foldable))
        assert (left, right) == (few, many) or left == right
        assert can_read_as(few, left)
        assert can_read_as(many, right)
        assert left in (few, max(few, many), math.gcd(few, many))


def test_the_planner_answers_for_a_graph(tmp_path: Path) -> None:
    """A question with a graph alone gets its numbers, and no verdicts."""
    open_metastore(str(tmp_path), create=True).close()
    question = {
        "protocol": codec.PROTOCOL,
        "op": "plan_joins",
        "catalog": "lake",
        "options": {"warehouse": str(tmp_path)},
        "graph": {
            "scans": [{"count": 3, "held": 3, "larger": True}, {"count": 6, "held": 6, "larger": False}],
            "joins": [{"columns": 1, "left": {"reported": [0]}, "right": {"reported": [1]}}],
        },
    }
    answer = json.loads(Planner(NoEngine("UTC")).ask(json.dumps(question)))
    assert answer == {
        "ok": {
            "verdicts": [],
            "bucket_counts": [6, 6],
            "in_place": [0, 0],
            "splits": [{"side": None, "buckets": [], "texts": []}],
            "skew_splits": [],
        }
    }
