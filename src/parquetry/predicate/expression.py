"""Immutable expressions: columns, constants, and calls of functions.

A call names the function by its V2 name or by the name of Spark's class, in capitals: `DATE_TRUNC` and
`TRUNCTIMESTAMP` are one function (`functions.table.FUNCTIONS`). This module computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from parquetry.predicate.zones import UNKNOWN_ZONE, Zone
from parquetry.types import ColumnType, Value, order_key


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """A column of the table.

    Attributes:
        name: as the table writes it.
        type: of its values.
    """

    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; None is NULL."""

    value: Value
    type: ColumnType


@dataclass(frozen=True, slots=True)
class ConstantList:
    """The literals of an IN, sorted.

    Attributes:
        values: each once; NULL is not among them.
        type: of each.
        has_null: whether NULL was among them.
        keys: the order keys of the values.
    """

    values: tuple[Value, ...]
    type: ColumnType
    has_null: bool = False
    keys: tuple[Any, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        unique = {order_key(value): value for value in self.values}
        keys = tuple(sorted(unique))
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "values", tuple(unique[key] for key in keys))


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function of expressions.

    Attributes:
        function: a key of `functions.table.FUNCTIONS`.
        args: the arguments, in the order of Spark's class.
        type: of the results, or None if it is not known.
        zone: the time zone, for functions that need one.
        raises: whether a value that a cast cannot convert is an error, and not NULL.
        detail: what is no argument: the escape of LIKE, the unit of TIMESTAMPADD.
    """

    function: str
    args: tuple[Expression, ...]
    type: ColumnType | None = None
    zone: Zone = UNKNOWN_ZONE
    raises: bool = True
    detail: str = ""

    def constant(self, position: int) -> Value:
        """Return the value of an argument that is a constant, or None for NULL and for all other ones."""
        if position >= len(self.args):
            return None
        argument = self.args[position]
        return argument.value if isinstance(argument, Constant) else None


Expression: TypeAlias = ColumnReference | Constant | ConstantList | FunctionCall


def columns_in(expression: Expression) -> Iterator[ColumnReference]:
    """Yield the columns of an expression, from the left; a column may appear more than once."""
    waiting: list[Expression] = [expression]
    while waiting:
        match waiting.pop():
            case FunctionCall(args=args):
                waiting += reversed(args)
            case ColumnReference() as column:
                yield column
