"""Split a condition along one column of the key, and detect conditions that no key can satisfy.

`Cutter.pieces` overlays the spans of all leaves about a column. Each piece of the column has a residual, the
part of the condition that is still open there. `(d = 1 OR s = 'a') AND (s = 'b' OR d = 2)`, split along `d`:

| piece           | residual              |
|-----------------|-----------------------|
| `d = 1`         | `s = 'b'`             |
| `d = 2`         | `s = 'a'`             |
| everything else | `s = 'a' AND s = 'b'` |

The last residual needs two values of one column. `Cutter.satisfiable` splits it along `s` and finds no piece.
If it runs out of budget, it returns True, so that no key is lost.
"""

from __future__ import annotations

import copy
from collections import Counter

from parquetry.key_schema import KeySchema
from parquetry.predicate import (
    FALSE,
    NULL,
    TRUE,
    And,
    BooleanConstant,
    Not,
    Opaque,
    Or,
    Predicate,
    columns_of,
    conjoin,
    disjoin,
)
from parquetry.scan.marker import END, FieldSpace, Piece, Span, contiguous, intersection, union

MAX_STEPS = 20_000
"""Residuals of pieces that may be made for one condition; after that, no more columns are split."""
MAX_VISITS = 6
"""Visits to each part of the condition, on average; after that, no more columns are split."""
MIN_PARTS = 100
"""Parts of a condition that its budget counts at least, so that small conditions have a budget, too."""


class Cutter:
    """Splits one condition along columns, within a budget, and caches its results.

    Args:
        schema: the schema of the keys.
        node: the condition; its size determines the budget.
    """

    def __init__(self, schema: KeySchema, node: Predicate) -> None:
        self.spaces = [FieldSpace(field) for field in schema.fields]
        self._visits = MAX_VISITS * max(_parts(node), MIN_PARTS)
        self._steps_left, self._visits_left = MAX_STEPS, self._visits
        # By identity, since hashing an IN of thousands many times costs too much; the nodes are kept alive.
        self._about: dict[int, tuple[Predicate, set[str]]] = {}
        self._spans: dict[tuple[int, int], tuple[Predicate, list[Span]]] = {}
        self._satisfiable: dict[int, tuple[Predicate, bool]] = {}

    def with_own_budget(self) -> Cutter:
        """Return a cutter of the same condition with a budget of its own; both share one cache."""
        other = copy.copy(self)
        other._steps_left, other._visits_left = MAX_STEPS, self._visits
        return other

    @property
    def exhausted(self) -> bool:
        """Whether the budget is used up."""
        return self._steps_left < 0 or self._visits_left < 0

    def columns(self, node: Predicate) -> set[str]:
        """Return the columns that a condition is about."""
        if id(node) not in self._about:
            self._about[id(node)] = (node, columns_of(node))
        return self._about[id(node)][1]

    def pieces(self, node: Predicate, depth: int) -> list[Piece]:
        """Split the column at `depth` into pieces, each with the residual of the condition in it."""
        self._visits_left -= 1
        match node:
            case And(children):
                pieces = intersection([self.pieces(child, depth) for child in children])
            case Or(children):
                pieces = union([self.pieces(child, depth) for child in children])
            case BooleanConstant(truth):
                return [(self.spaces[depth].low, END, TRUE)] if truth else []
            case _:
                pieces = self._spans_of(node, depth)
        self._steps_left -= sum(
            len(rest.children) if isinstance(rest, And | Or) else 1 for _, _, rest in pieces
        )
        return pieces

    def within(self, node: Predicate, depth: int, low: bytes, high: bytes) -> Predicate:
        """Return a condition without the parts that a range of the column at `depth` decides."""
        if self.exhausted:
            return node
        match node:
            case And(children):
                return conjoin(self.within(child, depth, low, high) for child in children)
            case Or(children):
                return disjoin(self.within(child, depth, low, high) for child in children)
        self._steps_left -= 1
        met = [span for span in self._spans_of(node, depth) if span[0] < high and low < span[1]]
        if not met:
            return FALSE
        decided = contiguous(met) and met[0][0] <= low and high <= met[-1][1]
        return TRUE if decided and all(span[2] == TRUE for span in met) else node

    def without_contradictions(self, node: Predicate) -> Predicate:
        """Replace each AND that no key can satisfy by FALSE, for any columns of the key."""
        match node:
            case Or(children):
                return disjoin(map(self.without_contradictions, children))
            case And(children):
                whole = conjoin(map(self.without_contradictions, children))
                return whole if self.satisfiable(whole) else FALSE
        return node

    def satisfiable(self, node: Predicate) -> bool:
        """Return False if no key satisfies a condition; True if one may."""
        if node in (FALSE, NULL):
            return False
        if not isinstance(node, And | Or):
            return True
        if id(node) not in self._satisfiable:
            self._satisfiable[id(node)] = (node, self._is_satisfiable(node))
        return self._satisfiable[id(node)][1]

    def _is_satisfiable(self, node: And | Or) -> bool:
        if isinstance(node, Or):
            return any(map(self.satisfiable, node.children))
        about = Counter(column for child in node.children for column in self.columns(child))
        shared = [depth for depth, space in enumerate(self.spaces) if about[space.field.name] > 1]
        for depth in shared:
            if self.exhausted:
                return True
            column = self.spaces[depth].field.name
            rests = {id(rest): rest for _, _, rest in self.pieces(node, depth)}
            if not rests:
                return False
            # A residual that still names the column could not be split, and a second try would not help.
            if any(column in self.columns(rest) for rest in rests.values()):
                continue
            return any(map(self.satisfiable, rests.values()))
        return True

    def _spans_of(self, leaf: Predicate, depth: int) -> list[Span]:
        space = self.spaces[depth]
        if space.field.name not in self.columns(leaf) or not_understood(leaf):
            return [(space.low, END, leaf)]
        key = (id(leaf), depth)
        if key not in self._spans:
            self._spans[key] = (leaf, space.spans(leaf))
        return self._spans[key][1]


def not_understood(leaf: Predicate) -> bool:
    """Return whether a leaf cannot be turned into spans."""
    return isinstance(leaf, Opaque) or (isinstance(leaf, Not) and isinstance(leaf.child, Opaque))


def _parts(node: Predicate) -> int:
    """Count a condition's parts, itself included."""
    return 1 + sum(map(_parts, node.children)) if isinstance(node, And | Or) else 1
