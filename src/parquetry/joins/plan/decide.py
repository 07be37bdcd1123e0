"""Decide how the joins of a plan use buckets.

For each group of joins whose scans meet in the same buckets there are four ways:

| way      | what changes                                   | where it is chosen                             |
|----------|------------------------------------------------|------------------------------------------------|
| in place | scans are read in their buckets, and Spark     | it costs less than what Spark does itself      |
|          | shuffles the other rows to them (`placement`)  | (`cost`)                                       |
| agree    | both sides report one number of buckets        | Spark cannot fold them, or would sort again    |
|          | (`bucket_counts`)                              |                                                |
| split    | several tasks read a hot bucket                | the join gets shorter by a fifth at least      |
|          | (`bucket_splits`)                              |                                                |
| leave    | nothing                                        | none of the others                             |

Heavy keys are joined apart before, as this changes the plan itself (`skew_joins`).
"""

from __future__ import annotations

from typing import NamedTuple

from parquetry.joins.plan.bucket_counts import choose_bucket_counts
from parquetry.joins.plan.bucket_splits import SplitDecision, decide_split
from parquetry.joins.plan.graph import PlanGraph
from parquetry.joins.plan.placement import choose_placement


class JoinLayouts(NamedTuple):
    """The decisions about a graph.

    Attributes:
        counts: the number of buckets that each scan reports to Spark.
        in_place: the number of buckets that each scan is read in place in, or 0 if it is not.
        splits: for each join what is split.
    """

    counts: list[int]
    in_place: list[int]
    splits: list[SplitDecision]


def decide_layouts(graph: PlanGraph) -> JoinLayouts:
    """Return the cheapest way for each group of joins.

    >>> from parquetry.joins.plan.graph import GraphJoin, GraphScan, GraphSide
    >>> three, six = GraphScan(3, 3, larger=True), GraphScan(6, 6, larger=False)
    >>> join = GraphJoin(GraphSide(9, reported=[0]), GraphSide(9, reported=[1]), columns=1)
    >>> decide_layouts(PlanGraph([three, six], [join])).counts
    [6, 6]
    """
    in_place = choose_placement(graph)
    counts = choose_bucket_counts(graph, in_place)
    unchanged = {
        scan
        for scan, (count, placed) in enumerate(zip(counts, in_place, strict=True))
        if not placed and count == graph.scans[scan].count
    }
    splits = [
        decide_split(graph, join.hot)
        if join.hot and all(hot.scan in unchanged for hot in join.hot)
        else SplitDecision.none(len(join.hot))
        for join in graph.joins
    ]
    return JoinLayouts(counts, in_place, splits)
