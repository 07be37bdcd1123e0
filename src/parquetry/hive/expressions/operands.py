"""Find the column of an operand, through casts that lose nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from parquetry.hive.expressions.constants import (
    FLOAT_CASTS,
    INTEGER_CASTS,
    TEXT_CASTS,
    ConstantValue,
    constant_value,
)
from parquetry.hive.expressions.stream import UnreadExpressionError
from parquetry.hive.expressions.tree import CallNode, ColumnNode, ExpressionNode
from parquetry.types import STRING, ColumnType, parse_type

_INT, _TIMESTAMP = ColumnType("int"), ColumnType("timestamp")


@dataclass(frozen=True, slots=True)
class Operand:
    """A column, as the expression sees it.

    Attributes:
        name: as the table writes it.
        column: its type.
        type: the type that Hive sees after all casts.
        bits: the fewest bits of whole numbers that a cast to a float kept, or 64.
        year: whether it is the year of a date.
        parsed: whether it is a text that a cast reads as a double: many texts are NULL then.
        beginning: if it is the beginning of a text, how many characters that has at most; else 0.
    """

    name: str
    column: ColumnType
    type: ColumnType
    bits: int = 64
    year: bool = False
    parsed: bool = False
    beginning: int = 0

    @property
    def whole(self) -> bool:
        """Whether it is the column's value, and no part of it."""
        return not self.year and not self.parsed and not self.beginning


def find_column(node: ColumnNode, columns: Mapping[str, ColumnType]) -> tuple[str, ColumnType]:
    """Return the table's name and type of a column.

    Raises:
        UnreadExpressionError: the table has no such partition column, or the client takes it for another
            type.
    """
    for name, type in columns.items():
        if name.lower() == node.name.lower():
            seen = _TIMESTAMP if type.name == "timestamp_ntz" else type
            if seen != parse_type(node.type):
                raise UnreadExpressionError(
                    f"column {name} of type {type} has type {node.type} for the client"
                )
            return name, type
    raise UnreadExpressionError(f"there is no partition column {node.name}")


def read_operand(node: ExpressionNode, columns: Mapping[str, ColumnType]) -> Operand:
    """Return the column of a node.

    Raises:
        UnreadExpressionError: the node has none, or a cast loses something.
    """
    match node:
        case ColumnNode():
            name, type = find_column(node, columns)
            return Operand(name, type, parse_type(node.type))
        case CallNode(function, (argument,), type_name):
            return _cast(read_operand(argument, columns), function, parse_type(type_name))
        case CallNode("UDFSubstr", (argument, start, length)):
            return _beginning(read_operand(argument, columns), constant_value(start), constant_value(length))
    raise UnreadExpressionError("a function of a column")


def _cast(inner: Operand, function: str, type: ColumnType) -> Operand:
    seen = inner.type
    if not inner.whole:
        raise UnreadExpressionError("a function of a part of a column")
    if function == "UDFYear" and seen.name == "date":
        return replace(inner, type=_INT, year=True)
    if function == "UDFToDouble" and seen == STRING:
        return replace(inner, type=type, parsed=True)
    if function in INTEGER_CASTS:
        keeps = seen.integral and type.integral and seen.facts.bits <= type.facts.bits
    elif function in FLOAT_CASTS:
        keeps = type.floating and (seen.integral or (seen.floating and seen.facts.bits <= type.facts.bits))
        inner = replace(inner, bits=min(type.facts.exact_bits, inner.bits))
    elif function == "ToDecimal":
        keeps = type.name == "decimal" and decimal_holds(type, seen)
    elif function in TEXT_CASTS:
        keeps = type.name == "string" and (seen.unpadded or seen.name == "date" or seen.integral)
    elif function == "ToDate":
        keeps = type.name == seen.name == "date"
    elif function == "Timestamp":
        keeps = type == _TIMESTAMP and seen.name in ("date", "timestamp")
    else:
        raise UnreadExpressionError("a function of a column")
    if not keeps:
        raise UnreadExpressionError(f"a cast from {seen} to {type} may lose something")
    return replace(inner, type=type)


def _beginning(inner: Operand, start: ConstantValue | None, length: ConstantValue | None) -> Operand:
    """Read `substr(column, 1, 7)`; Hive counts from 1, and takes 0 for 1."""
    first, count = (each.value if each is not None else None for each in (start, length))
    text = inner.type.unpadded or inner.type.name == "date"
    if not inner.whole or not text or first not in (0, 1) or not isinstance(count, int) or count < 1:
        raise UnreadExpressionError("a function of a column")
    return replace(inner, type=STRING, beginning=count)


def decimal_holds(wide: ColumnType, narrow: ColumnType) -> bool:
    """Return whether a decimal has all values of a type of whole numbers, or of another decimal.

    >>> decimal_holds(parse_type("decimal(12,2)"), _INT), decimal_holds(parse_type("decimal(10,2)"), _INT)
    (True, False)
    """
    if narrow.integral:
        whole, scale = narrow.facts.digits, 0
    elif narrow.name == "decimal":
        whole, scale = narrow.precision - narrow.scale, narrow.scale
    else:
        return False
    return wide.precision - wide.scale >= whole and wide.scale >= scale
