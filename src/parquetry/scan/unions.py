"""Plan unions: branches of an OR that the key's order serves are read by keys, other branches by indexes.

The condition is split along the first column of the key (`generate.SplitCondition`). Take the key (day,
store, item) with indexes on `store` and on `item`, and `day = 77 OR store = 'zz' OR day > 90 AND item = 5`:

| piece of `day`       | residual                         | read by                |
|----------------------|----------------------------------|------------------------|
| before 77, 77 to 90  | `store = 'zz'`                   | the index on `store`   |
| 77                   | none: all of its keys are wanted | keys                   |
| after 90             | `store = 'zz' OR item = 5`       | both indexes           |

A piece is read by indexes if they serve its whole residual. An index serves a condition that bounds its first
column. Indexes serve an OR if they serve each of its branches, and an AND if they serve one of its parts. The
pieces are disjoint, so keys and indexes never find the same partition; two indexes may.

No division of the pieces is always the best, so `unions` yields two plans, and the caller estimates which
reads less. The first plan reads pieces by indexes wherever possible. The second does so only if the piece is
a range of values and each index is read for single values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from parquetry.key_schema import KeySchema
from parquetry.predicate import TRUE, And, Filter, Or, Predicate, conjoin, conjuncts, disjoin
from parquetry.scan.cutter import Cutter
from parquetry.scan.generate import SplitCondition, plan_scan
from parquetry.scan.marker import END, Piece, contiguous
from parquetry.scan.plan import IndexOrder, KeyScan, ScanPlan

MAX_CONDITIONS = 64
"""Distinct residuals in the pieces of one filter; with more, no union is planned."""


def plan_by_index(filter: Filter, schema: KeySchema, index: IndexOrder) -> ScanPlan:
    """Plan the reading of an index's entries that a condition may be TRUE for.

    Args:
        filter: a filter on the key's columns only.
        schema: the schema of the partitions' keys.
        index: the index to read.
    """
    plan = plan_scan(filter, schema.reorder(index.order))
    return ScanPlan(tuple(KeyScan("index", s.start, s.stop, s.residual) for s in plan.scans), index)


def unions(filter: Filter, schema: KeySchema, indexes: Sequence[IndexOrder]) -> Iterator[ScanPlan]:
    """Yield plans that read some pieces of a condition by indexes.

    Args:
        filter: a filter on the key's columns only.
        schema: the schema of the partitions' keys.
        indexes: the indexes that have entries for all partitions.

    Returns:
        The plans; none if no piece is served, or if one index serves all pieces.
    """
    if not indexes or not _has_or(filter.node):
        return
    pieces = _Pieces(filter, schema, indexes)
    if len({id(rest) for _, _, rest in pieces.split.pieces}) > MAX_CONDITIONS:
        return
    eager = pieces.plan(careful=False)
    careful = pieces.plan(careful=True)
    if eager is not None:
        yield eager
    if careful is not None and careful != eager:
        yield careful


class _Cover(NamedTuple):
    """The indexes that serve a condition.

    Attributes:
        branches: indexes with the conditions that they are read for; together they cover the condition.
        selective: whether each of the indexes is read for single values of its first column.
    """

    branches: tuple[tuple[IndexOrder, Predicate], ...]
    selective: bool


class _Pieces:
    """The pieces of a condition, and the indexes that serve each."""

    def __init__(self, filter: Filter, schema: KeySchema, indexes: Sequence[IndexOrder]) -> None:
        self.split = SplitCondition(filter, schema)
        self._schema = schema
        self._cutters = [(index, Cutter(schema.reorder(index.order), filter.node)) for index in indexes]
        self._covers: dict[int, _Cover | None] = {}

    def plan(self, *, careful: bool) -> ScanPlan | None:
        """Return a union, or None if keys alone, or one index alone, read all pieces."""
        by_keys: list[Piece] = []
        by_index: dict[IndexOrder, list[Predicate]] = {}
        for piece in self.split.pieces:
            cover = self._cover_of(piece, careful)
            if cover is None:
                by_keys.append(piece)
            else:
                for index, branch in cover.branches:
                    by_index.setdefault(index, []).append(branch)
        if len(by_index) + bool(by_keys) < 2 or not by_index:
            return None
        parts = [
            plan_by_index(Filter(_both(self.split.node, disjoin(branches))), self._schema, index)
            for index, branches in by_index.items()
        ]
        if any(part.whole for part in parts):
            return None
        return ScanPlan(self.split.scans(by_keys), by_indexes=tuple(part for part in parts if part.scans))

    def _cover_of(self, piece: Piece, careful: bool) -> _Cover | None:
        rest = piece[2]
        if rest == TRUE or (careful and self.split.is_point(piece)):
            return None
        if id(rest) not in self._covers:
            self._covers[id(rest)] = self._cover(rest)
        cover = self._covers[id(rest)]
        return None if cover is not None and careful and not cover.selective else cover

    def _cover(self, node: Predicate) -> _Cover | None:
        """Return the most selective cover of a condition by indexes, or None if they do not serve it."""
        best: _Cover | None = None
        for index, cutter in self._cutters:
            cover = _cover_by_index(index, cutter, node)
            if cover is not None and (best is None or (cover.selective and not best.selective)):
                best = cover
        if best is not None and best.selective:
            return best
        match node:
            case Or(children):
                covers = [self._cover(child) for child in children]
                served = [cover for cover in covers if cover is not None]
                if len(served) == len(covers):
                    united = _Cover(
                        tuple(branch for cover in served for branch in cover.branches),
                        all(cover.selective for cover in served),
                    )
                    if best is None or united.selective:
                        return united
            case And(children):
                for child in children:
                    part = self._cover(child) if isinstance(child, Or) else None
                    if part is not None and (best is None or part.selective):
                        return part
        return best


def _cover_by_index(index: IndexOrder, cutter: Cutter, node: Predicate) -> _Cover | None:
    """Return one index's cover of a condition, or None if the condition does not bound its first column."""
    space = cutter.spaces[0]
    if space.field.name not in cutter.columns(node) or cutter.exhausted:
        return None
    pieces = cutter.pieces(node, 0)
    if pieces and pieces[0][0] == space.low and pieces[-1][1] == END and contiguous(pieces):
        return None
    return _Cover(((index, node),), all(space.point(low, high) for low, high, _ in pieces))


def _both(node: Predicate, branch: Predicate) -> Predicate:
    """Join a condition and one of its branches with AND, without the ORs that the branch implies."""
    alternatives = branch.children if isinstance(branch, Or) else (branch,)
    parts = [
        part
        for part in conjuncts(node)
        if not (isinstance(part, Or) and all(each in part.children for each in alternatives))
    ]
    return conjoin((*parts, branch))


def _has_or(node: Predicate) -> bool:
    return isinstance(node, Or) or (isinstance(node, And) and any(map(_has_or, node.children)))
