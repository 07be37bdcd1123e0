"""Plan the ranges of keys that can satisfy a condition on partition columns.

A simple planner would turn each leaf into a range of keys, then unite the ranges of an OR and intersect the
ranges of an AND. With forty ORs of ANDs the ranges multiply. This planner takes the key's columns in order
and splits the condition along each. Take the key (day, region), both strings, and

    (day >= 'b' AND region = 'eu') OR day = 'd'

1. Split along `day`. Between the markers 'b' and 'd', and after 'd', the leaf `day >= 'b'` is TRUE and
   `day = 'd'` is FALSE. At 'd' both are TRUE. Before 'b' both are FALSE. A leaf that is decided in a piece
   drops out there. Three pieces remain, each with its residual:

   | piece      | residual                          |
   |------------|-----------------------------------|
   | ['b', 'd') | `region = 'eu'`                   |
   | 'd'        | none: all of its keys are wanted  |
   | after 'd'  | `region = 'eu'`                   |

2. Split along `region`, but only within single days: in a range of several days, a region's keys are not
   contiguous. The piece 'd' is a single day, and all of its keys are wanted.
3. Join adjacent pieces into one range, unless a single value between them is split further. Here all three
   are adjacent. They become one range from 'b' to the end, with the residual `region = 'eu' OR day = 'd'`,
   tested on each key.

The pieces of a column never overlap, so no key is read twice, and keys come in order. More examples, for a
key (p1, p2) followed by another column c1:

| condition                         | plan                                        |
|-----------------------------------|---------------------------------------------|
| `p1 > 10 AND (p1 > 20 OR c1 = 5)` | (10, end) where `p1 > 20 OR c1 = 5`         |
| `p1 IN (1, 2) AND p2 IN (5, 6)`   | four gets: (1, 5), (1, 6), (2, 5), (2, 6)   |
| `p1 = 3 OR c1 = 7`                | everything where `p1 = 3 OR c1 = 7`         |

Limits keep planning fast: the number of scans, the work of splitting, and the number of adjacent single
values that are read one by one. Past a limit, a part of the condition stays a residual; no key is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from parquetry.key_schema import KeySchema
from parquetry.keys import successor, trailer
from parquetry.predicate import (
    FALSE,
    NULL,
    TRUE,
    And,
    Compare,
    Filter,
    Not,
    Or,
    Predicate,
    TupleIn,
    columns_of,
    conjoin,
    conjuncts,
    disjoin,
)
from parquetry.predicate.evaluate import evaluate
from parquetry.scan.cutter import Cutter, not_understood
from parquetry.scan.marker import END, Piece, contiguous
from parquetry.scan.plan import EVERYTHING, KeyScan, ScanPlan
from parquetry.types import Value

MAX_SCANS = 10_000
"""Ranges in a plan; a column with more pieces is read as one range."""
MAX_NESTED_SCANS = 100
"""Ranges in a plan below single values of the first columns."""
MERGE_POINTS = 64
"""Pieces of one column; with more, adjacent single values are one range, since a seek costs more."""


class _Range(NamedTuple):
    """A range of keys below a prefix of fields; its bytes are relative to that prefix.

    Attributes:
        low: the first bytes.
        high: the first bytes after the range, or None for the end of the prefix.
        residual: the condition to test on each key.
        widths: the widths of a single key's fields in bytes, or None for a range.
    """

    low: bytes
    high: bytes | None
    residual: Predicate
    widths: tuple[int, ...] | None


def plan_scan(filter: Filter, schema: KeySchema) -> ScanPlan:
    """Plan the reading of all keys that a condition may be TRUE for.

    Args:
        filter: a filter on the key's columns only; parts that are not understood become residuals.
        schema: the schema of the keys.

    Returns:
        The plan; its ranges are disjoint and in key order. It has no range if no key can satisfy the
        condition.

    Raises:
        ColumnNotFoundError: the condition is about a column that the key does not have.

    >>> from parquetry.predicate import equal
    >>> from parquetry.scan.plan_text import plan_text
    >>> from parquetry.types import parse_type
    >>> int_ = parse_type('int')
    >>> schema = KeySchema.from_columns([('p', int_), ('q', int_)])
    >>> print(plan_text(plan_scan(Filter(Compare('>', 'p', 255, int_)), schema), schema))
    scan p >= 256
    >>> print(plan_text(plan_scan(Filter(And((equal('p', 1, int_), equal('q', 2, int_)))), schema), schema))
    get p = 1, q = 2
    """
    for name in columns_of(filter.node):
        schema.position(name)
    key = _whole_key(filter.node, schema)
    if key is not None:
        return ScanPlan((KeyScan("get", key, successor(key), None),))
    node = _without_small_tuples(filter.node)
    if node == TRUE:
        return EVERYTHING
    planner = _Planner(schema, node)
    node = planner.contradictions.without_contradictions(node)
    return ScanPlan(_scans(planner.plan(node, 0, MAX_SCANS), filter))


class SplitCondition:
    """A condition split along the first column of a key, so that its pieces can be planned in different ways.

    Attributes:
        node: the condition.
        pieces: disjoint and in key order; no key outside of them satisfies the condition.
    """

    def __init__(self, filter: Filter, schema: KeySchema) -> None:
        """Split a filter on the key's columns."""
        self._filter = filter
        node = _without_small_tuples(filter.node)
        self._planner = _Planner(schema, node)
        self.node = self._planner.contradictions.without_contradictions(node)
        self.pieces: Sequence[Piece] = (
            [] if self.node in (FALSE, NULL) else self._planner.pieces(self.node, 0)
        )

    def is_point(self, piece: Piece) -> bool:
        """Return whether a piece is a single value of the column."""
        return self._planner.is_point(piece)

    def scans(self, pieces: Sequence[Piece]) -> tuple[KeyScan, ...]:
        """Return the ranges of keys for some of the pieces, in their order."""
        return _scans(self._planner.ranges(self.node, 0, pieces, MAX_SCANS), self._filter) if pieces else ()


class NestedCondition:
    """A condition, planned below single values of the key's first columns.

    Args:
        filter: a filter on the key's columns only.
        schema: the schema of the keys.
        depth: number of first columns that have single values.
    """

    def __init__(self, filter: Filter, schema: KeySchema, depth: int) -> None:
        self._filter = filter
        self._depth = depth
        self._node = _without_small_tuples(filter.node)
        self._planner = _Planner(schema, self._node)
        self._residuals = {id(filter.node): filter}
        about = columns_of(self._node)
        self._bound = [
            (position, field) for position, field in enumerate(schema.fields[:depth]) if field.name in about
        ]

    def reads_all(self) -> bool:
        """Return whether all keys are read, if the condition is not about the first columns."""
        ranges = self._planner.plan(self._node, self._depth, MAX_NESTED_SCANS)
        return any((low, high) == (b"", None) for low, high, _, _ in ranges)

    def scans(self, fields: Sequence[bytes]) -> tuple[KeyScan, ...]:
        """Return the ranges of keys, in order, that begin with the fields of values and may satisfy it."""
        node = self._node
        for position, field in self._bound:
            node = _at(node, field.name, field.decode(fields[position])[0])
        prefix, before = b"".join(fields), tuple(map(len, fields))
        after = successor(prefix)
        ranges = self._planner.plan(node, self._depth, MAX_NESTED_SCANS)
        return _scans(
            (
                _Range(
                    prefix + low,
                    after if high is None else prefix + high,
                    residual,
                    None if widths is None else (*before, *widths),
                )
                for low, high, residual, widths in ranges
            ),
            self._filter,
            self._residuals,
        )


def _scans(
    ranges: Iterable[_Range], filter: Filter, residuals: dict[int, Filter] | None = None
) -> tuple[KeyScan, ...]:
    scans: list[KeyScan] = []
    if residuals is None:  # one for each condition, since thousands of ranges share them
        residuals = {id(filter.node): filter}
    for low, high, residual, widths in ranges:
        rest = residuals.get(id(residual))
        if rest is None and residual != TRUE:
            rest = residuals[id(residual)] = Filter(residual)
        if widths is None:
            last = scans[-1] if scans else None
            if (
                rest is None
                and last is not None
                and (last.kind, last.stop, last.residual) == ("range", low, None)
            ):
                scans[-1] = KeyScan("range", last.start, high, None)
            else:
                scans.append(KeyScan("range", low, high, rest))
        else:
            key = low + trailer(tuple(accumulate(widths)))
            scans.append(KeyScan("get", key, successor(key), rest))
    return tuple(scans)


def _whole_key(node: Predicate, schema: KeySchema) -> bytes | None:
    """Return the key that a condition names if it is one equality for each column and nothing else, or None.

    Splitting would find the same key; this is a fast path for the most frequent filter.
    """
    parts = conjuncts(node)
    if len(parts) != len(schema):
        return None
    values: dict[str, Value] = {}
    for part in parts:
        if not isinstance(part, Compare) or part.op not in ("=", "<=>"):
            return None
        values[part.column] = part.value
    if len(values) != len(schema):
        return None
    return schema.encode([values[field.name] for field in schema.fields])


def _without_small_tuples(node: Predicate) -> Predicate:
    """Write `(a, b) NOT IN ((1, 2))` as `a != 1 OR b != 2`, which can be split along each column."""
    match node:
        case And(children) | Or(children):
            rewritten = tuple(map(_without_small_tuples, children))
            if all(new is old for new, old in zip(rewritten, children, strict=True)):
                return node
            return conjoin(rewritten) if isinstance(node, And) else disjoin(rewritten)
        case Not(TupleIn(names, rows, types)) if len(rows) <= MERGE_POINTS:
            return conjoin(
                disjoin(
                    NULL if value is None else Compare("!=", name, value, type)
                    for name, value, type in zip(names, row, types, strict=True)
                )
                for row in rows
            )
    return node


@dataclass(frozen=True, slots=True)
class _Item:
    """A piece of a column, and the ranges planned below it.

    Attributes:
        piece: the piece.
        below: the ranges within a single value, relative to the value's field, or None for a range of values.
    """

    piece: Piece
    below: list[_Range] | None

    @property
    def unwanted(self) -> bool:
        """Whether it is a single value without any wanted key."""
        return self.below is not None and not self.below

    @property
    def whole(self) -> bool:
        """Whether it is a single value whose keys, possibly many, are all wanted."""
        return self.below == [(b"", None, TRUE, None)]

    @property
    def partial(self) -> bool:
        """Whether it is a single value whose keys need not all be read."""
        if not self.below:
            return False
        low, high, residual, widths = self.below[0]
        tested = widths is not None and residual != TRUE
        return len(self.below) > 1 or low != b"" or high is not None or tested


class _Planner:
    """Plans the ranges of one condition; it caches results, since many values have the same residual.

    Args:
        schema: the schema of the keys.
        node: the condition.
    """

    def __init__(self, schema: KeySchema, node: Predicate) -> None:
        self._cutter = Cutter(schema, node)
        self.contradictions = self._cutter.with_own_budget()
        self._spaces = self._cutter.spaces
        # By identity, since hashing an IN of thousands many times costs too much; the nodes are kept alive.
        self._planned: dict[tuple[int, int, int], tuple[Predicate, list[_Range]]] = {}

    def plan(self, node: Predicate, depth: int, budget: int) -> list[_Range]:
        """Return the ranges for a condition on the columns from `depth` on, relative to the fields before."""
        if node in (FALSE, NULL):
            return []
        if depth == len(self._spaces):
            return [_Range(b"", None, node, () if depth else None)]
        if (
            node == TRUE
            or self._cutter.exhausted
            or self._spaces[depth].field.name not in self._cutter.columns(node)
        ):
            return [_Range(b"", None, node, None)]
        key = (id(node), depth, budget)
        if key not in self._planned:
            self._planned[key] = (node, self._plan(node, depth, budget))
        return self._planned[key][1]

    def _plan(self, node: Predicate, depth: int, budget: int) -> list[_Range]:
        space = self._spaces[depth]
        pieces = self.pieces(node, depth)
        if not pieces:
            return []
        everything = pieces[0][0] == space.low and pieces[-1][1] == END and contiguous(pieces)
        if everything and any(rest != TRUE and not space.point(low, high) for low, high, rest in pieces):
            # Some branch of an OR needs every key of the column. One scan of all keys, with the whole
            # condition as its residual, reads no more than several adjacent scans.
            return [_Range(b"", None, node, None)]
        return self.ranges(node, depth, pieces, budget)

    def is_point(self, piece: Piece, depth: int = 0) -> bool:
        """Return whether a piece of the column at `depth` is a single value."""
        return self._spaces[depth].point(piece[0], piece[1])

    def pieces(self, node: Predicate, depth: int) -> list[Piece]:
        """Split the column at `depth` into pieces, and drop pieces that no key satisfies."""
        pieces = self._cutter.pieces(node, depth)
        return [piece for piece in pieces if self.contradictions.satisfiable(piece[2])]

    def ranges(self, node: Predicate, depth: int, pieces: Sequence[Piece], budget: int) -> list[_Range]:
        """Return the ranges for pieces of the column at `depth`; single values are split further."""
        if len(pieces) > budget:
            return [self._as_range(node, depth, pieces)]
        items = [_Item(piece, self._below(piece, depth, budget // len(pieces))) for piece in pieces]
        result: list[_Range] = []
        for run in _runs(items):
            as_range = run[0].below is None or (
                len(run) > 1 and (any(item.below is None for item in run) or all(item.whole for item in run))
            )
            if as_range or (len(run) > 1 and len(pieces) > MERGE_POINTS):
                result.append(self._as_range(node, depth, [item.piece for item in run]))
            else:
                for item in run:
                    result += _placed(item)
        return result

    def _below(self, piece: Piece, depth: int, budget: int) -> list[_Range] | None:
        low, high, node = piece
        space = self._spaces[depth]
        if not space.point(low, high):
            return None
        if node != TRUE and space.field.name in self._cutter.columns(node):
            node = _at(node, space.field.name, space.field.decode(low)[0])
        return self.plan(node, depth + 1, max(budget, 1))

    def _as_range(self, node: Predicate, depth: int, pieces: Sequence[Piece]) -> _Range:
        low, high = pieces[0][0], pieces[-1][1]
        rest = pieces[0][2]
        if len(pieces) > 1 and not (contiguous(pieces) and all(piece[2] == TRUE for piece in pieces)):
            rest = self._cutter.within(node, depth, low, high)
        return _Range(
            b"" if low == self._spaces[depth].low else low, None if high == END else high, rest, None
        )


def _at(node: Predicate, column: str, value: Value) -> Predicate:
    """Return a condition without the leaves that one value of a column decides; NULL counts as FALSE."""
    match node:
        case And(children):
            return conjoin(_at(child, column, value) for child in children)
        case Or(children):
            return disjoin(_at(child, column, value) for child in children)
    if not_understood(node) or columns_of(node) != {column}:
        return node
    return TRUE if evaluate(node, {column: value}) is True else FALSE


def _runs(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    """Group adjacent items that must be read in full, so that each group can be one range.

    Two ranges with one unwanted value between them become one: reading the keys of that value costs less than
    starting a second scan, and the residual rejects them.
    """
    run: list[_Item] = []
    gap: list[_Item] = []
    for item in items:
        if item.unwanted:
            gap.append(item)
            continue
        joins = bool(run) and contiguous([near.piece for near in (*run[-1:], *gap, item)])
        if gap:
            joins = joins and run[-1].below is None and item.below is None
        if joins and not run[-1].partial and not item.partial:
            run += gap
        elif run:
            yield run
            run = []
        run.append(item)
        gap = []
    if run:
        yield run


def _placed(item: _Item) -> Iterator[_Range]:
    """Prepend a single value's field to its ranges."""
    field, after, _ = item.piece
    for low, high, residual, widths in item.below or ():
        stop = field + high if high is not None else None if after == END else after
        yield _Range(field + low, stop, residual, None if widths is None else (len(field), *widths))
