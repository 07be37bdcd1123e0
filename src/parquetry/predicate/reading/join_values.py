"""Read the values that joins bring for a scan: sets of a column or of an expression, and tuples.

    {"fn": "IN", "col": ["k"], "type": "bigint", "packed": …}
    {"fn": "IN", "of": {"fn": "+", …}, "type": "bigint", "packed": …}
    {"fn": "TUPLES", "count": 2, "args": [{"col": ["x"], …}, {"of": {"fn": "CAST", …}, …}]}

A key may be computed from columns: `f.id + 1 = d.k`. Then its tree has an expression, `of`, in place of a
column. Such a set implies ranges of the column, and the bounds of each file are compared with its values.
Tuples become one condition for each value of the expression, beside the tuples of the other columns.

Many values of one type come packed into few bytes.

    {"fn": "IN", "col": ["k"], "type": "bigint", "packed": <3 × 8 bytes in base64>}
    {"fn": "IN", "col": ["s"], "type": "string", "packed": <the bytes of all, in base64>, "lengths": <4 bytes for each>}

A hundred thousand values take a megabyte. No JSON value is decoded for each of them. Types that are neither
numbers of at most 64 bits nor made of bytes are sent as texts.

Boxes are rows of a build side whose values bound columns of the probe side together.

    f JOIN d ON f.day BETWEEN d.first AND d.last

    {"fn": "BOXES", "most": 100, "exact": true, "types": ["date", "date"], "rows": [["3", "5"], ["40", "41"]],
     "condition": day >= {"box": 0, "least": true} AND day <= {"box": 1, "least": false}}

    day >= 3 AND day <= 5 OR day >= 40 AND day <= 41

A row of the probe side can only match if the condition holds with the values of one row. There may be ten
thousand rows. Of more rows than `most`, neighbours become one box, from the least to the greatest of
each value: the rows come in order. If only one end is used, as in `f.day < d.last`, one box has all others.
The bridge sends rows that are not `exact` if it has kept only the least and the greatest of each value.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from parquetry.predicate import bind
from parquetry.predicate.expression import ConstantList, Expression, FunctionCall
from parquetry.predicate.functions import preimage
from parquetry.predicate.functions.casts import casts_text
from parquetry.predicate.nodes import FALSE, TRUE, And, IsNull, Opaque, Or, Predicate
from parquetry.predicate.reading.operand_trees import (
    UNREADABLE,
    ExpressionReader,
    column_of,
    literal_reader,
    names_in,
    read_literal,
    tree_text,
)
from parquetry.types import BOOLEAN, ColumnType, Value, order_key, sql_literal

MAX_TUPLE_GROUPS = 100
"""Values of the expressions of tuples that become conditions of their own; of more, neighbours become one."""
_LISTED_VALUES = 20
"""Values of an expression that the text of a condition lists."""


def column_set(tree: Any, columns: Mapping[str, ColumnType]) -> Predicate:
    """Read a packed set of a column."""
    name, type = column_of(tree, columns)
    literal = literal_reader(tree["type"])[0]
    return bind.membership(name, type, packed_values(literal, tree), literal, has_null=bool(tree.get("null")))


def computed_set(tree: Any, columns: Mapping[str, ColumnType]) -> Predicate:
    """Read a set of an expression. NULL is left out, as it equals nothing.

    >>> of = {"fn": "+", "args": [{"col": ["id"]}, {"lit": "1", "type": "int"}]}
    >>> tree = {"fn": "IN", "of": of, "type": "int", "values": ["8", "3"]}
    >>> found = computed_set(tree, {"id": ColumnType("int")})
    >>> print(found), print(found.implied)
    id + 1 IN (3, 8)
    id = 2 OR id > 2147483646 OR id = 7
    (None, None)
    """
    key = _Key.read(tree, columns)
    return key.membership(value for value in _values(tree) if value is not None)


def tuples(arguments: Sequence[Any], columns: Mapping[str, ColumnType]) -> Predicate:
    """Read tuples, whose values come by columns; a key compared by `<=>` may have NULL."""
    if not arguments:
        return FALSE  # there are none
    rows = list(dict.fromkeys(zip(*map(_values, arguments), strict=True)))
    plain = [
        _Column(position, *column_of(tree, columns), literal_reader(tree["type"])[0])
        for position, tree in enumerate(arguments)
        if "of" not in tree
    ]
    computed = [
        (position, _Key.read(tree, columns)) for position, tree in enumerate(arguments) if "of" in tree
    ]
    return _any_tuple(plain, computed, rows, MAX_TUPLE_GROUPS)


class _Column(NamedTuple):
    """A column of tuples, its place among the values of a tuple, and the type of its literals."""

    place: int
    name: str
    type: ColumnType
    literal: ColumnType


class _Key(NamedTuple):
    """A computed key, and the type of its values; the expression is None if it is not understood."""

    expression: Expression | None
    type: ColumnType
    text: str
    columns: tuple[str, ...]

    @classmethod
    def read(cls, tree: Any, columns: Mapping[str, ColumnType]) -> _Key:
        of = tree["of"]
        names = tuple(dict.fromkeys(names_in(of, columns)))
        return cls(read_key(of, columns), literal_reader(tree["type"])[0], tree_text(of), names)

    def membership(self, values: Iterable[Value], most: int = preimage.MAX_RANGES) -> Predicate:
        """Return the condition that the expression has one of some values, with at most so many ranges."""
        listed = ConstantList(tuple(values), self.type)
        if not listed.values:
            return FALSE
        text = f"{self.text} IN ({self._listed(listed.values)})"
        if self.expression is None:
            return Opaque(text, self.columns, "function on the column")
        literals = [(value, self.type) for value in listed.values]
        implied = preimage.implied_by_any(self.expression, literals, most)
        formula = FunctionCall("IN", (self.expression, listed), BOOLEAN)
        return Opaque(text, self.columns, "function on the column", implied, formula)

    def _listed(self, values: Sequence[Value]) -> str:
        if len(values) <= _LISTED_VALUES:
            return ", ".join(sql_literal(self.type, value) for value in values)
        least, greatest = (sql_literal(self.type, value) for value in (values[0], values[-1]))
        return f"{len(values):,} values from {least} to {greatest}"


def read_key(tree: Any, columns: Mapping[str, ColumnType]) -> Expression | None:
    """Return a computed key of a join, or None if its values in a file are not known.

    Args:
        tree: the key.
        columns: the types of the table's columns by name.
    """
    try:
        expression = ExpressionReader(columns, read_literal).read(tree)
    except UNREADABLE:
        return None
    return None if expression is None or casts_text(expression) else expression


def _values(tree: Any) -> list[Value]:
    literal, read = literal_reader(tree["type"])
    return packed_column(literal, tree, read)


def _any_tuple(
    plain: Sequence[_Column],
    computed: Sequence[tuple[int, _Key]],
    rows: Sequence[tuple[Value, ...]],
    groups: int,
) -> Predicate:
    """Return the condition that columns and expressions have one of several tuples.

    Args:
        plain: the columns.
        computed: the expressions, each with its place in a tuple.
        rows: the tuples.
        groups: how many conditions the values of the expressions become at most.
    """
    if not computed:
        return _any_row(plain, rows)
    (position, key), *others = computed
    by_value: dict[Any, list[tuple[Value, ...]]] = {}
    for row in rows:
        by_value.setdefault(order_key(row[position]), []).append(row)
    keys = sorted(by_value)
    size = -(-len(keys) // groups)
    parts = []
    for first in range(0, len(keys), size):
        some = [row for each in keys[first : first + size] for row in by_value[each]]
        rest = _any_tuple(plain, others, some, max(1, groups * size // len(keys)))
        parts.append(And((key.membership((row[position] for row in some), most=1), rest)))
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _any_row(columns: Sequence[_Column], rows: Sequence[tuple[Value, ...]]) -> Predicate:
    """Return the condition that columns have one of several rows of values, where NULL equals NULL."""
    by_nulls: dict[tuple[_Column, ...], list[tuple[Value, ...]]] = {}
    for row in rows:
        nulls = tuple(column for column in columns if row[column.place] is None)
        by_nulls.setdefault(nulls, []).append(row)
    parts: list[Predicate] = []
    for nulls, some in by_nulls.items():
        there = [column for column in columns if column not in nulls]
        parts.append(And(tuple(IsNull(column.name) for column in nulls)) if nulls else TRUE)
        if there:
            values = list(dict.fromkeys(tuple(row[column.place] for column in there) for row in some))
            names, types = [(column.name, column.type) for column in there], [each.literal for each in there]
            full = bind.tuple_membership(names, values, types)
            parts[-1] = And((parts[-1], full)) if nulls else full
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def raw_values(tree: Mapping[str, Any]) -> list[Any]:
    """Return one column of tuples, in the tuples' order, as it was sent: bits of numbers, bytes, or texts.

    Args:
        tree: has `packed`, and `lengths` for a type made of bytes; or `values`, which are texts.

    >>> raw_values({"packed": base64.b64encode(np.array([7, 3, 7], "<i8").tobytes()).decode()})
    [7, 3, 7]
    """
    if "values" in tree:
        return list(tree["values"])
    data = base64.b64decode(tree["packed"])
    if "lengths" not in tree:
        numbers: list[int] = np.frombuffer(data, "<i8").tolist()
        return numbers
    lengths = np.frombuffer(base64.b64decode(tree["lengths"]), "<i4").tolist()
    return [data[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]


def packed_column(type: ColumnType, tree: Mapping[str, Any], read: Callable[[str], Value]) -> list[Value]:
    """Return the values of one column of tuples, in the tuples' order; None is NULL.

    Args:
        type: the type of the values.
        tree: see `raw_values`; it may have `nulls`, a byte for each value, which is 1 if the value stands for
            NULL.
        read: converts a text to a value.
    """
    raw = raw_values(tree)
    if "values" in tree:
        values: list[Value] = [None if text is None else read(text) for text in raw]
    elif "lengths" in tree:
        values = raw if type.name == "binary" else [part.decode() for part in raw]
    else:
        values = np.array(raw, np.int64).view("<f8").tolist() if type.floating else raw
    if "nulls" in tree:
        flags = base64.b64decode(tree["nulls"])
        values = [None if flag else value for value, flag in zip(values, flags, strict=True)]
    return values


def packed_values(type: ColumnType, tree: Mapping[str, Any]) -> list[Value]:
    """Return the values, sorted and unique; NULL is not among them.

    Args:
        type: the type of the values.
        tree: has `packed`, and `lengths` for a type made of bytes. Numbers are little-endian: integers, days
            and microseconds have 64 bits, floats are doubles.

    >>> tree = {"packed": base64.b64encode(np.array([7, 3, 7], "<i8").tobytes()).decode()}
    >>> packed_values(ColumnType("date"), tree)
    [3, 7]
    """
    data = base64.b64decode(tree["packed"])
    if "lengths" not in tree:
        numbers = np.sort(np.frombuffer(data, "<f8" if type.floating else "<i8"))
        fresh = numbers[1:] != numbers[:-1]  # takes a tenth of the time of np.unique
        values: list[Value] = numbers[np.concatenate(([True], fresh))].tolist() if len(numbers) else []
        return values
    lengths = np.frombuffer(base64.b64decode(tree["lengths"]), "<i4").tolist()
    parts = {data[start:end] for start, end in pairwise(accumulate(lengths, initial=0))}
    return [*sorted(parts)] if type.name == "binary" else [*sorted(part.decode() for part in parts)]


_FALSE: dict[str, Any] = {"fn": "ALWAYS_FALSE", "args": []}
_COMPARISONS = ("=", "<", "<=", ">", ">=")

_Row = Sequence[str | None]


def expand_boxes(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the condition that some box of a tree allows a row.

    Args:
        tree: the boxes as the bridge sends them.

    >>> condition = {"fn": "<", "args": [{"col": ["n"]}, {"box": 0, "least": False, "type": "int"}]}
    >>> tree = {"most": 100, "exact": True, "types": ["int"], "rows": [["3"], ["12"], [None]], "condition": condition}
    >>> expand_boxes(tree)
    {'fn': '<', 'args': [{'col': ['n']}, {'lit': '12', 'type': 'int'}]}
    """
    condition, types, rows = tree["condition"], tree["types"], tree["rows"]
    alternatives: list[dict[str, Any]] = []
    for group in _groups(condition, rows, tree["most"] if tree["exact"] else 1):
        one = _with_values(condition, _least_and_greatest(types, group))
        if one not in alternatives:
            alternatives.append(one)
    there = [each for each in alternatives if each != _FALSE]
    if not there:
        return _FALSE
    return there[0] if len(there) == 1 else {"fn": "OR", "args": there}


def _groups(condition: Any, rows: Sequence[_Row], most: int) -> list[Sequence[_Row]]:
    """Return the rows that become one box each. What needs no value holds without rows, too."""
    ends = {(each["box"], each["least"]) for each in _values_in(condition)}
    if not rows or len(ends) < 2:
        return [rows]
    size = -(-len(rows) // most)
    return [rows[first : first + size] for first in range(0, len(rows), size)]


def _values_in(tree: Any) -> Iterator[Mapping[str, Any]]:
    if "box" in tree:
        yield tree
    for each in tree.get("args", ()):
        yield from _values_in(each)


def _least_and_greatest(types: Sequence[str], rows: Sequence[_Row]) -> list[tuple[str | None, str | None]]:
    """Return the least and the greatest of each value; None if it is NULL in all rows."""
    if len(rows) == 1:
        return [(text, text) for text in rows[0]]
    found: list[tuple[str | None, str | None]] = []
    for position, type in enumerate(types):
        texts = [row[position] for row in rows if row[position] is not None]
        keys = {text: order_key(read_literal({"lit": text, "type": type})[0]) for text in texts}
        found.append(
            (min(keys, key=keys.__getitem__), max(keys, key=keys.__getitem__)) if keys else (None, None)
        )
    return found


def _with_values(tree: Any, ends: Sequence[tuple[str | None, str | None]]) -> dict[str, Any]:
    """Return a condition with the values of a box. A comparison with NULL holds for no row, but for `<=>`."""
    if "box" in tree:
        return {"lit": ends[tree["box"]][0 if tree["least"] else 1], "type": tree["type"]}
    if "args" not in tree:
        return dict(tree)
    args = [_with_values(each, ends) for each in tree["args"]]
    function = str(tree.get("fn")).upper()
    if function in _COMPARISONS and any("lit" in each and each["lit"] is None for each in args):
        return _FALSE
    if function == "OR":
        args = [each for each in args if each != _FALSE] or [_FALSE]
    elif function == "AND":
        if _FALSE in args:
            return _FALSE
        args = _equalities(args)
    return args[0] if function in ("AND", "OR") and len(args) == 1 else {**tree, "args": args}


def _equalities(args: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the operands of an AND; `x >= 3` and `x <= 3` become `x = 3`."""
    match args:
        case [{"fn": ">=", "args": [low, {"lit": least}]}, {"fn": "<=", "args": [high, {"lit": most}]}] if (
            low == high and least == most
        ):
            return [{**args[0], "fn": "=", "class": "EqualTo"}]
    return args
