"""Translate a condition on one column into spans of that column's bytes in a key, and overlay such spans.

A span is half-open: it contains every field from its first marker on that is less than its second. Markers
are bytes; no flag says whether a value is included. For an int column, whose field is `01` and four bytes:

| condition   | first marker  | second marker | why                                                        |
|-------------|---------------|---------------|------------------------------------------------------------|
| `c = 10`    | `01 8000000a` | `01 8000000b` | the second marker is the successor of 10's field           |
| `c > 10`    | `01 8000000b` | `02`          | everything after 10; no value's field begins with `02`     |
| `c IS NULL` | `00`          | `01`          | NULL sorts before all values, and is in no other span      |

`c > 10` must not begin at 10's field followed by a zero byte. Keys continue after the field, so each key with
`c = 10` begins with the bytes of 10's field. All of them whose next byte is greater than zero would be
included.

Only TRUE matters to a scan, so FALSE and NULL both mean "no span". If bytes alone cannot decide a condition,
its span carries the condition as a residual, to be tested on each key.

Lists of spans of one column are overlaid by AND and by OR.

A list is in order, and its pieces do not overlap. Where pieces of several lists overlap, their residuals are
joined into one. The same residuals are joined once, since thousands of pieces share them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from parquetry.key_schema import KeyField
from parquetry.keys import fixed_width, successor
from parquetry.predicate import (
    TRUE,
    And,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    Rest,
    TupleIn,
    equal,
    head,
)
from parquetry.types import ColumnType, Value, extreme_values

END = b"\xff\xff"
"""The marker after every field of a column; no field begins with these bytes."""

Span: TypeAlias = tuple[bytes, bytes, Predicate]
"""The first marker, the second marker (not included), and the residual; `TRUE` is no residual."""


@dataclasses.dataclass(slots=True)
class FieldSpace:
    """The bytes that a column's fields can take, in the order of the keys.

    Attributes:
        field: the column's field.
        values: the values of all fields that spans were made from, by their bytes.
        low: the marker before the column's first field.
        value_low: the marker before the fields that are not NULL.
        value_high: the marker after the fields that are not NULL.
    """

    field: KeyField
    values: dict[bytes, Value] = dataclasses.field(default_factory=dict)
    low: bytes = dataclasses.field(init=False)
    value_low: bytes = dataclasses.field(init=False)
    value_high: bytes = dataclasses.field(init=False)
    _width: int | None = dataclasses.field(init=False)
    _first: bytes | None = dataclasses.field(init=False)
    _last: bytes | None = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.low, self.value_low, self.value_high = (
            (b"\xfe", b"\xfe", b"\xff") if self.field.descending else (b"\x00", b"\x01", END)
        )
        self._width = fixed_width(self.field.type)
        self._first, self._last = _extremes(self.field)

    def field_of(self, value: Value) -> bytes:
        """Encode a value, and store it in `values`."""
        encoded = self.field.encode(value)
        self.values[encoded] = value
        return encoded

    def after(self, encoded: bytes) -> bytes:
        """Return the marker after a field of this column."""
        if encoded == self._last:
            return self.value_high
        if self._width == len(encoded):
            # Keeping the width makes the marker after 255 and the marker before 256 the same bytes.
            return (int.from_bytes(encoded, "big") + 1).to_bytes(len(encoded), "big")
        return successor(encoded) or END

    def point(self, low: bytes, high: bytes) -> bool:
        """Return whether a span contains the field of one value only."""
        return (low in self.values or self._width == len(low)) and self.after(low) == high

    def spans(self, leaf: Predicate) -> list[Span]:
        """Return the spans, in order, where a leaf about this column may be TRUE."""
        match leaf:
            case Compare(op, _, value):
                return self._comparison(leaf, op, self.field_of(value))
            case In(_, values):
                return self._points((self.field_of(value), TRUE) for value in values)
            case IsNull():
                return [(self.field_of(None), END if self.field.descending else b"\x01", TRUE)]
            case Like() if self.field.type.textual:
                return self._like(leaf)
            case TupleIn():
                return self._tuples(leaf)
            case Not(IsNull()):
                return [(self.value_low, self.value_high, TRUE)]
            case Not(In(_, values)):
                return self._all_but(leaf, sorted(self.field_of(value) for value in values))
            case Not(Like() as like) if self.field.type.textual:
                return self._unlike(leaf, like)
            case Not(TupleIn()):
                return [(self.low, END, leaf)]
        return [(self.value_low, self.value_high, leaf)]

    def _comparison(self, leaf: Predicate, op: str, encoded: bytes) -> list[Span]:
        if op == "=" or op == "<=>":
            return [(encoded, self.after(encoded), TRUE)]
        if op == "!=":
            return self._all_but(leaf, [encoded])
        if (op in ("<", "<=")) != self.field.descending:
            return self._between(self.value_low, self.after(encoded) if op in ("<=", ">=") else encoded)
        return self._between(encoded if op in ("<=", ">=") else self.after(encoded), self.value_high)

    def _between(self, low: bytes, high: bytes) -> list[Span]:
        return [(low, high, TRUE)] if low < high and (self._first is None or high > self._first) else []

    def _points(self, fields: Iterable[tuple[bytes, Predicate]]) -> list[Span]:
        return sorted(
            ((encoded, self.after(encoded), node) for encoded, node in fields), key=lambda span: span[0]
        )

    def _all_but(self, leaf: Predicate, encoded: list[bytes]) -> list[Span]:
        """Return everything but NULL; each excluded value is a point of its own, with the leaf as residual.

        An excluded value at the edge of a range makes the range narrower. One in the middle does not split
        it: reading the keys of one value costs less than starting a second scan.
        """
        result: list[Span] = []
        position = self.value_low
        for point in encoded:
            result += self._between(position, point)
            position = self.after(point)
            result.append((point, position, leaf))
        return result + self._between(position, self.value_high)

    def _prefix(self, text: str) -> tuple[bytes, bytes]:
        if not text:
            return self.value_low, self.value_high
        marker = self.field.prefix(text)
        return marker, successor(marker) or END

    def _like(self, like: Like) -> list[Span]:
        text, rest = head(like.pattern, like.escape)
        if rest is Rest.NOTHING:
            if self.field.type.name == "char" and len(text) != self.field.type.length:
                return []  # LIKE sees the padding
            encoded = self.field_of(text)
            return [(encoded, self.after(encoded), TRUE)]
        low, high = self._prefix(text)
        return [(low, high, TRUE if rest is Rest.ANYTHING else like)]

    def _unlike(self, leaf: Predicate, like: Like) -> list[Span]:
        text, rest = head(like.pattern, like.escape)
        if rest is Rest.NOTHING:
            if self.field.type.name == "char" and len(text) != self.field.type.length:
                return [(self.value_low, self.value_high, TRUE)]
            return self._all_but(leaf, [self.field_of(text)])
        low, high = self._prefix(text)
        return [*self._between(self.value_low, low), (low, high, leaf), *self._between(high, self.value_high)]

    def _tuples(self, leaf: TupleIn) -> list[Span]:
        """Return a point for each of the column's values; its residual is about the rows' other columns."""
        at = leaf.columns.index(self.field.name)
        others = [position for position in range(len(leaf.columns)) if position != at]
        by_field: dict[bytes, list[tuple[Value, ...]]] = {}
        for row in leaf.rows:
            if not any(value is None for value in row):  # a row with a NULL equals nothing
                by_field.setdefault(self.field_of(row[at]), []).append(tuple(row[i] for i in others))
        names = tuple(leaf.columns[i] for i in others)
        types = tuple(leaf.types[i] for i in others)
        return self._points((encoded, _others(names, rows, types)) for encoded, rows in by_field.items())


def _others(
    names: tuple[str, ...], rows: list[tuple[Value, ...]], types: tuple[ColumnType, ...]
) -> Predicate:
    if not names:
        return TRUE
    if len(names) > 1:
        return TupleIn(names, tuple(rows), types)
    if len(rows) == 1:
        return equal(names[0], rows[0][0], types[0])
    return In(names[0], tuple(value for (value,) in rows), types[0])


@lru_cache(maxsize=256)
def _extremes(field: KeyField) -> tuple[bytes | None, bytes | None]:
    """Encode the first and the last value of a type in key order, or None if a type has no such value."""
    type = field.type
    least, greatest = extreme_values(type)
    if least is None or type.name == "char":
        return None, None
    if type.floating:
        greatest = math.nan
    first = field.encode(least)
    last = None if greatest is None else field.encode(greatest)
    return (last, first) if field.descending else (first, last)


Piece: TypeAlias = tuple[bytes, bytes, Predicate]
"""The first marker, the second marker (not included), and the residual; `TRUE` is no residual."""

_Parts: TypeAlias = tuple[Predicate, ...]
_Laid: TypeAlias = tuple[bytes, bytes, _Parts]
"""A piece whose conditions are not joined yet; none of them is TRUE."""


def intersection(lists: Sequence[Sequence[Piece]]) -> list[Piece]:
    """Overlay lists by AND: the result has a piece only where all lists have one."""
    return _joined(_reduced([_parted(pieces) for pieces in lists], _intersected), And)


def union(lists: Sequence[Sequence[Piece]]) -> list[Piece]:
    """Overlay lists by OR: the result has a piece wherever any list has one."""
    return _joined(_reduced([_parted(pieces) for pieces in lists], _united), Or)


def contiguous(pieces: Sequence[Piece]) -> bool:
    """Return whether each piece ends where the next begins."""
    return all(left[1] == right[0] for left, right in pairwise(pieces))


def _parted(pieces: Sequence[Piece]) -> list[_Laid]:
    return [(low, high, () if node == TRUE else (node,)) for low, high, node in pieces]


def _reduced(lists: list[list[_Laid]], lay: Callable[[list[_Laid], list[_Laid]], list[_Laid]]) -> list[_Laid]:
    # In pairs, as in a tournament: one after another would traverse the growing result every time.
    while len(lists) > 1:
        paired = [lay(left, right) for left, right in zip(lists[::2], lists[1::2], strict=False)]
        lists = paired + lists[len(paired) * 2 :]
    return lists[0] if lists else []


def _intersected(left: list[_Laid], right: list[_Laid]) -> list[_Laid]:
    result = []
    i = j = 0
    while i < len(left) and j < len(right):
        low_left, high_left, parts_left = left[i]
        low_right, high_right, parts_right = right[j]
        low = max(low_left, low_right)
        high = min(high_left, high_right)
        if low < high:
            result.append((low, high, parts_left + parts_right))
        if high_left == high:
            i += 1
        if high_right == high:
            j += 1
    return result


def _united(left: list[_Laid], right: list[_Laid]) -> list[_Laid]:
    if not left or not right:
        return left or right
    result = []
    i = j = 0
    # The rest of the current piece on each side, or None after the last piece.
    a: _Laid | None = left[0]
    b: _Laid | None = right[0]
    while a is not None or b is not None:
        if b is None or (a is not None and a[0] < b[0]):
            assert a is not None
            end = a[1] if b is None else min(a[1], b[0])
            result.append((a[0], end, a[2]))
            a = (end, a[1], a[2])
        elif a is None or b[0] < a[0]:
            end = b[1] if a is None else min(b[1], a[0])
            result.append((b[0], end, b[2]))
            b = (end, b[1], b[2])
        else:
            end = min(a[1], b[1])
            # Where one side has no residual, the OR is TRUE.
            result.append((a[0], end, a[2] + b[2] if a[2] and b[2] else ()))
            a, b = (end, a[1], a[2]), (end, b[1], b[2])
        if a is not None and a[0] == a[1]:
            i += 1
            a = left[i] if i < len(left) else None
        if b is not None and b[0] == b[1]:
            j += 1
            b = right[j] if j < len(right) else None
    return result


def _joined(laid: list[_Laid], kind: type[And] | type[Or]) -> list[Piece]:
    joined: dict[tuple[int, ...], Predicate] = {}
    result: list[Piece] = []
    for low, high, parts in laid:
        if not parts:
            result.append((low, high, TRUE))
            continue
        key = tuple(map(id, parts))
        if key not in joined:
            flat: dict[int, Predicate] = {}
            for part in parts:
                for child in part.children if isinstance(part, kind) else (part,):
                    flat[id(child)] = child
            children = tuple(flat.values())
            joined[key] = children[0] if len(children) == 1 else kind(children)
        result.append((low, high, joined[key]))
    return result
