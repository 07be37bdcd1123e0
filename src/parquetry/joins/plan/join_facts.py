"""Facts about the joins of Spark's plan: their keys, the scans below them, and what is on the way.

The bridge collects these facts (`bridge/reports/JoinFacts.scala`), and `shuffle_reasons` judges them.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from parquetry.prune import BucketReport, node_words, plain_text


class KeyColumn(msgspec.Struct, frozen=True):
    """A column of a scan: the scan's number on its side of the join, the column's name, and its type."""

    scan: int
    name: str
    type: str


class Key(msgspec.Struct, frozen=True):
    """A join key of one side, traced to the scans below.

    Attributes:
        sql: the expression of the key.
        columns: the columns in it.
        plain: whether it is just one column.
        cast: whether it is just one column, cast to another type.
    """

    sql: str
    columns: tuple[KeyColumn, ...]
    plain: bool
    cast: bool

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "sql", plain_text(self.sql))


class ScanFacts(msgspec.Struct, frozen=True):
    """A scan of one of our tables below a join.

    Attributes:
        table: its name.
        buckets: its buckets, or None if it has none.
    """

    table: str
    buckets: BucketReport | None


class RowMove(msgspec.Struct, frozen=True):
    """A node that has moved rows of a side to other partitions (`bridge/rowlayout/Lost.scala`).

    Attributes:
        kind: `shuffle`, or `repartition` if the query itself asks for the shuffle. `rest` is a shuffle of
            some rows to the buckets of the others. `node` combines several inputs or partitions.
        node: the node in words: a join by its type, UNION, LIMIT.
    """

    kind: Literal["shuffle", "repartition", "rest", "node", "other"]
    node: str = ""


class Side(msgspec.Struct, frozen=True):
    """One side of a join.

    Attributes:
        name: the first leaf of its plan: a table, or words for another source of rows.
        keys: its join keys, in the order of the other side's keys; none if the join compares none.
        scans: the scans of our tables below it.
        moves: what has moved its rows on their way from these scans, or joins of them, the lowest first.
        in_buckets: whether rows come to the join in buckets, their own or the other side's, in Spark's plan.
    """

    name: str
    keys: tuple[Key, ...]
    scans: tuple[ScanFacts, ...]
    moves: tuple[RowMove, ...] = ()
    in_buckets: bool = False

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "name", node_words(self.name))

    @property
    def exchanged(self) -> bool:
        """Return whether the rows are shuffled."""
        return self._has_moved("shuffle", "repartition")

    @property
    def repartitioned(self) -> bool:
        """Return whether the query itself repartitions the rows."""
        return self._has_moved("repartition")

    @property
    def rest(self) -> bool:
        """Return whether some of the rows are shuffled to the buckets that the others are in."""
        return self._has_moved("rest")

    @property
    def through(self) -> tuple[str, ...]:
        """Return the nodes that combine several inputs or partitions, the highest first."""
        return tuple(each.node for each in reversed(self.moves) if each.kind == "node")

    def _has_moved(self, *kinds: str) -> bool:
        return any(each.kind in kinds for each in self.moves)


class JoinFacts(msgspec.Struct, frozen=True):
    """A join in Spark's plan.

    Attributes:
        type: of the join.
        sides: the left and the right one.
        broadcast: the side that is broadcast (0 or 1), or None.
        sorts: how many sides are sorted for the join.
        incremental_sorts: how many other sides are sorted only among rows that the order of files leaves
            equal.
    """

    type: str
    sides: tuple[Side, Side]
    broadcast: int | None
    sorts: int = 0
    incremental_sorts: int = 0

    @property
    def conditions(self) -> tuple[str, ...]:
        """Return the join's equalities in SQL, each once.

        For `x <=> y` Spark compares `coalesce(x, 0)` and `(x IS NULL)` with the same of `y`.
        """
        left, right = self.sides
        pairs = [(one.sql, other.sql) for one, other in zip(left.keys, right.keys, strict=True)]
        texts = {pair: f"{pair[0]} = {pair[1]}" for pair in pairs}
        for pair in pairs:
            values = tuple(sql.removeprefix("(").removesuffix(" IS NULL)") for sql in pair)
            if pair != tuple(f"({value} IS NULL)" for value in values):
                continue
            for other in pairs:
                if all(
                    sql.startswith(f"coalesce({value}, ") for sql, value in zip(other, values, strict=True)
                ):
                    texts[other] = " <=> ".join(values)
                    texts.pop(pair, None)
        return tuple(dict.fromkeys(texts.values()))


class KeyedSide:
    """The scan that has most keys of a side of a join, and the side.

    Attributes:
        side: the facts of the side.
        name: the table of that scan, or Spark's name for another source.
        buckets: the buckets of that scan, or None if it is not bucketed or not one of our tables.
    """

    def __init__(self, side: Side) -> None:
        self.side = side
        hits = [0] * len(side.scans)
        for key in side.keys:
            for column in key.columns:
                hits[column.scan] += 1
        bucketed = [scan.buckets is not None for scan in side.scans]
        self._scan = max(range(len(hits)), key=lambda number: (hits[number], bucketed[number]), default=-1)
        scan = side.scans[self._scan] if hits else None
        self.name = side.name if scan is None else scan.table
        self.buckets = None if scan is None else scan.buckets
        counts = {scan.buckets.count for scan in side.scans if scan.buckets is not None}
        self.folded = len(side.scans) > 1 and len(counts) > 1 and math.gcd(*counts) not in counts

    @property
    def usable(self) -> BucketReport | None:
        """Return the buckets, if joins may rely on them."""
        return self.buckets if self.buckets is not None and self.buckets.reason is None else None

    @property
    def in_place(self) -> bool:
        """Return whether the side's rows could stay in their buckets, as all their columns are joined on."""
        return self.usable is not None and all(
            any(key.plain or key.cast for _, key in self.column_keys(name)) for name in self.usable.columns
        )

    def column_keys(self, name: str) -> list[tuple[int, Key]]:
        """Return the keys that are computed from a column, with their positions."""
        return [
            (position, key)
            for position, key in enumerate(self.side.keys)
            if any(column.scan == self._scan and column.name == name for column in key.columns)
        ]

    def type_of(self, name: str, key: Key) -> str:
        """Return the type of a key's column: in the table if that is known, else in the query."""
        if self.buckets is not None and name in self.buckets.columns:
            return self.buckets.types[self.buckets.columns.index(name)]
        return next(column.type for column in key.columns if column.name == name)

    def plain_positions(self, name: str) -> set[int]:
        """Return the positions of keys that are just a column."""
        return {position for position, key in self.column_keys(name) if key.plain}
