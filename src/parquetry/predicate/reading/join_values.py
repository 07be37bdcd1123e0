"""Read the values that joins bring for a scan: sets of a column or of an expression, and tuples.

    {"fn": "IN", "col": ["k"], "type": "bigint", "packed": …}
    {"fn": "IN", "of": {"fn": "+", …}, "type": "bigint", "packed": …}
    {"fn": "TUPLES", "count": 2, "args": [{"col": ["x"], …}, {"of": {"fn": "CAST", …}, …}]}

A key may be computed from columns: `f.id + 1 = d.k`. Then its tree has an expression, `of`, in place of a
column. Such a set implies ranges of the column, and the bounds of each file are compared with its values.
Tuples become one condition for each value of the expression, beside the tuples of the other columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from parquetry.predicate import bind
from parquetry.predicate.expression import ConstantList, Expression, FunctionCall
from parquetry.predicate.functions import preimage
from parquetry.predicate.functions.casts import casts_text
from parquetry.predicate.nodes import FALSE, TRUE, And, IsNull, Opaque, Or, Predicate
from parquetry.predicate.reading.expressions import ExpressionReader
from parquetry.predicate.reading.operand_trees import (
    UNREADABLE,
    column_of,
    literal_reader,
    names_in,
    read_literal,
    tree_text,
)
from parquetry.predicate.reading.packed_values import packed_column, packed_values
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
        _Column(place, *column_of(tree, columns), literal_reader(tree["type"])[0])
        for place, tree in enumerate(arguments)
        if "of" not in tree
    ]
    computed = [(place, _Key.read(tree, columns)) for place, tree in enumerate(arguments) if "of" in tree]
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
        names = tuple(dict.fromkeys(names_in(of)))
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
        found = ExpressionReader(columns, read_literal).read(tree)
    except UNREADABLE:
        return None
    return None if found is None or casts_text(found) else found


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
    (place, key), *others = computed
    by_value: dict[Any, list[tuple[Value, ...]]] = {}
    for row in rows:
        by_value.setdefault(order_key(row[place]), []).append(row)
    keys = sorted(by_value)
    size = -(-len(keys) // groups)
    parts = []
    for first in range(0, len(keys), size):
        some = [row for each in keys[first : first + size] for row in by_value[each]]
        rest = _any_tuple(plain, others, some, max(1, groups * size // len(keys)))
        parts.append(And((key.membership((row[place] for row in some), most=1), rest)))
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
