"""The joins of a plan with a side in buckets, and the scans below them.

The bridge derives for each node of a plan where its rows are, and puts into one graph what decisions need
(`bridge/rowlayout/PlanGraph.scala`). All scans, joins and sides are named by their positions in it.
"""

from __future__ import annotations

import msgspec

from parquetry.joins.scans.buckets import BucketSizes


class GraphScan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scan whose rows are in buckets.

    Attributes:
        count: the number of buckets that Spark sees.
        held: the number of buckets that the files have.
        larger: whether a join with a table of more buckets uses the larger number.
        ordered: whether the files are sorted.
        bytes: of the files in buckets.
        outside: bytes of the other files.
        table: its name.
        sizes: of its buckets, if they may be split; else None.
        least: the fewest rows of a bucket that is split, by the table's setting.
    """

    count: int
    held: int
    larger: bool
    ordered: bool = False
    bytes: int = 0
    outside: int = 0
    table: str = ""
    sizes: BucketSizes | None = None
    least: int = 0


class GraphSide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A side of a join.

    Attributes:
        bytes: of its rows, as Spark estimates them.
        scans: the scans whose buckets its rows are in, if these are read in place.
        reported: the scans whose buckets Spark itself knows its rows to be in. The first is in buckets by the
            join's keys, and a join below has joined the others with it in the same buckets. Empty if the
            other side has no such scan with the same hash.
    """

    bytes: int = 0
    scans: list[int] = []
    reported: list[int] = []


class HotScan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scan of a join whose hot buckets may be split.

    Attributes:
        scan: its position.
        whole: why its rows must not be in several tasks, or None if they may be.
    """

    scan: int
    whole: str | None = None


class GraphJoin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A join by keys that the bucket columns of at least one side can be computed from.

    Attributes:
        left: the left side.
        right: the right side.
        pairs: a scan of the left side and one of the right side. Their rows with equal keys have the same
            hash. The third value is whether Spark itself joins them without a shuffle if it can fold their
            numbers.
        columns: the number of bucket columns of `reported`.
        hot: all scans below the join, if they are in the same buckets and some of these may be hot.
    """

    left: GraphSide
    right: GraphSide
    pairs: list[tuple[int, int, bool]] = []
    columns: int = 0
    hot: list[HotScan] = []


class PlanGraph(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The joins of a plan with a side in buckets.

    Attributes:
        scans: the scans that they read.
        joins: the joins, each after the joins below it.
        unions: the positions of scans below one UNION ALL. After it, all of them or none are in buckets.
        cores: how many tasks run at once.
        partitions: the number of partitions of a shuffle.
        foldable: whether this version of Spark folds buckets.
    """

    scans: list[GraphScan]
    joins: list[GraphJoin]
    unions: list[list[int]] = []
    cores: int = 1
    partitions: int = 200
    foldable: bool = True
