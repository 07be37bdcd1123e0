"""Fit a condition to a table: its names to the columns, its literals to the columns' types.

A literal that its column cannot hold is not an error. For an int column, `p < 2.5` becomes `p <= 2`,
`p = 2.5` is TRUE for no value, and `p < 1e20` is TRUE for every value but NULL. So a bound condition compares
values of one type only, and still means what SQL means. Numbers are compared as numbers, with two of Spark's
rules. A literal that is compared with a double becomes the nearest double. A double that is compared with a
decimal becomes the number that Spark prints for it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import assert_never

from parquetry import temporal
from parquetry.errors import ColumnNotFoundError, UnsupportedError, ValueTypeError
from parquetry.identifiers import field_path
from parquetry.predicate.nodes import (
    FALSE,
    MAX_CONDITION_DEPTH,
    NULL,
    And,
    BooleanConstant,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Predicate,
    TupleIn,
    any_of,
    depth,
    operands,
    without_nots,
)
from parquetry.types import ColumnType, Family, Value, extreme_values, to_float32, value_from_text

NUMBER_TYPE = ColumnType("decimal", precision=38)
"""The type of a number written without quotes; its value is a Decimal of any size."""

_WIDE_ARITHMETIC = Context(prec=400, rounding=ROUND_FLOOR)


def bind(node: Predicate, columns: Mapping[str, ColumnType], zone: str = "UTC") -> Predicate:
    """Fit a condition to columns.

    Args:
        node: a condition; its literals may have other types than their columns.
        columns: the columns' types by name; the condition may write names in any case.
        zone: the time zone for quoted timestamps, and for comparing a date with a timestamp.

    Raises:
        ColumnNotFoundError: there is no such column.
        ValueTypeError: a literal cannot be compared with its column at all.
        UnsupportedError: AND and OR are nested too deep.

    >>> str(bind(Compare('<', 'P', Decimal('2.5'), NUMBER_TYPE), {'p': ColumnType('int')}))
    'p <= 2'
    """
    if depth(node) > MAX_CONDITION_DEPTH:
        raise UnsupportedError(
            f"A condition with AND and OR nested more than {MAX_CONDITION_DEPTH} deep cannot be planned: "
            "query its parts one by one."
        )
    return _bound(node, columns, zone)


def _bound(node: Predicate, columns: Mapping[str, ColumnType], zone: str) -> Predicate:
    match node:
        case And():
            return _flat(And(tuple(_bound(child, columns, zone) for child in operands(node))))
        case Or():
            return _flat(Or(tuple(_bound(child, columns, zone) for child in operands(node))))
        case Not():
            child, odd = without_nots(node)
            bound = _bound(child, columns, zone)
            return Not(bound) if odd else bound
        case BooleanConstant() | Opaque():
            return node
        case TupleIn(names, rows, types):
            found = [resolve(name, columns) for name in names]
            if tuple(found) == tuple(zip(names, types, strict=True)) and all(t.name != "char" for t in types):
                return node
            return tuple_membership(found, rows, types, zone)
        case Compare(op, name, value, literal):
            name, type = resolve(name, columns)
            return comparison(op, name, type, value, literal, zone)
        case In(name, values, literal, has_null):
            resolved, type = resolve(name, columns)
            if resolved == name and type == literal and type.name != "char":
                return node
            return membership(resolved, type, values, literal, has_null, zone)
        case IsNull(name):
            return IsNull(resolve(name, columns)[0])
        case Like(name, pattern, escape):
            name, type = resolve(name, columns)
            _require_keyed(name, type)
            return Like(name, pattern, escape, type)
    assert_never(node)


def resolve(name: str, columns: Mapping[str, ColumnType]) -> tuple[str, ColumnType]:
    """Find a column by its name in any case; return the name as the table writes it, and the type.

    Raises:
        ColumnNotFoundError: there is no such column.
    """
    type = columns.get(name)
    if type is not None:
        return name, type
    lower = name.lower()
    for candidate, type in columns.items():
        if candidate.lower() == lower:
            return candidate, type
    known = ", ".join(".".join(field_path(each)) for each in columns) or "none"
    shown = ".".join(field_path(name))
    raise ColumnNotFoundError(f"Column {shown!r} is not there: the columns to choose from are {known}.")


def comparison(
    op: str, name: str, type: ColumnType, value: Value, literal: ColumnType, zone: str = "UTC"
) -> Predicate:
    """Compare a column with a literal of any type that can be compared with it.

    Raises:
        ValueTypeError: the two cannot be compared.
    """
    _require_keyed(name, type)
    if value is None:
        return IsNull(name) if op == "<=>" else NULL
    if literal == type and type.name != "char":
        return Compare(op, name, value, type)
    if type.name == "char":
        return _char_comparison(op, name, type, value, literal)
    floor, exact = _floor_literal(name, type, value, literal, zone)
    if exact:
        return Compare(op, name, floor, type)
    if op in ("=", "!=", "<=>"):
        return FALSE if op == "<=>" else never(name) if op == "=" else Not(never(name))
    if floor is None:
        return never(name) if op in ("<", "<=") else Not(never(name))
    return Compare("<=" if op in ("<", "<=") else ">", name, floor, type)


def membership(
    name: str,
    type: ColumnType,
    values: Sequence[Value],
    literal: ColumnType,
    has_null: bool = False,
    zone: str = "UTC",
) -> Predicate:
    """Return the condition that a column equals one of several literals.

    Raises:
        ValueTypeError: one of them cannot be compared with the column.
    """
    _require_keyed(name, type)
    if literal == type and type.name != "char":
        return In(name, tuple(values), type, has_null)
    equalities = [comparison("=", name, type, value, literal, zone) for value in values]
    return any_equality(name, type, equalities, has_null)


def any_equality(
    name: str, type: ColumnType, equalities: Sequence[Predicate], has_null: bool = False
) -> Predicate:
    """Make one IN from the equalities of a column with several literals, as `comparison` returned them."""
    values = tuple(part.value for part in equalities if isinstance(part, Compare))
    if equalities and not values:
        return NULL if has_null else never(name)
    return In(name, values, type, has_null)


def tuple_membership(
    columns: Sequence[tuple[str, ColumnType]],
    rows: Sequence[Sequence[Value]],
    types: Sequence[ColumnType],
    zone: str = "UTC",
) -> Predicate:
    """Return the condition that several columns together equal one of several rows of literals.

    Raises:
        ValueTypeError: a literal cannot be compared with its column.
    """
    return any_tuple(
        columns,
        [
            [
                comparison("=", name, type, value, literal, zone)
                for (name, type), value, literal in zip(columns, row, types, strict=True)
            ]
            for row in rows
        ],
    )


def any_tuple(columns: Sequence[tuple[str, ColumnType]], rows: Sequence[Sequence[Predicate]]) -> Predicate:
    """Make one tuple IN from each column's equality with each row's literal, as `comparison` returned it."""
    held = []
    others: list[Predicate] = []
    for parts in rows:
        if all(part == NULL or isinstance(part, Compare) for part in parts):
            held.append(tuple(part.value if isinstance(part, Compare) else None for part in parts))
        else:
            # No row equals it, but under a NOT it still matters whether it is NULL or FALSE.
            others.append(_flat(And(tuple(parts))))
    names, types = zip(*columns, strict=True)
    return any_of([TupleIn(names, tuple(held), types), *others] if held or not others else others)


def _flat(node: And | Or) -> And | Or:
    return type(node)(tuple(operands(node)))


def never(name: str) -> Predicate:
    """Return the condition that is FALSE for every value of a column, and NULL for NULL."""
    return And((IsNull(name), NULL))


def _require_keyed(name: str, type: ColumnType) -> None:
    if not type.keyed:
        raise ValueTypeError(f"Column {name} of type {type} cannot be compared with a literal.")


def _floor_literal(
    name: str, type: ColumnType, value: Value, literal: ColumnType, zone: str
) -> tuple[Value, bool]:
    """Return the greatest value of a type that is not above a literal, and whether it equals the literal.

    The value is None if the literal is less than all values of the type.
    """
    if type.family in (Family.TEXT, Family.BINARY, Family.BOOLEAN):
        if isinstance(value, str) and literal.textual:
            if type.textual:
                return value, True
            return value_from_text(type, value), True
        if literal.name == type.name:
            return value, True
    elif isinstance(value, str) and literal.textual:
        if type.numeric and not type.floating:
            return _floor_literal(name, type, _number(type, value), NUMBER_TYPE, zone)
        return value_from_text(type, value, zone), True
    elif type.temporal:
        if isinstance(value, int) and not isinstance(value, bool):
            placed = _floor_time(type, value, literal, zone)
            if placed is not None:
                return placed
    elif type.interval:
        alike = literal.interval and literal.facts.bits == type.facts.bits  # months, or microseconds
        if alike:
            return value, True
    elif isinstance(value, int | float | Decimal) and not isinstance(value, bool) and literal.numeric:
        return _floor_number(type, value)
    hint = "quote it" if type.textual else "write one of the column's type"
    raise ValueTypeError(f"Column {name} of type {type} cannot be compared with {value!r}: {hint}.")


def _number(type: ColumnType, text: str) -> Decimal:
    try:
        number = Decimal(text.strip().replace("_", "?") if text.isascii() else "NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise ValueTypeError(f"Value {text!r} does not fit type {type}: write a number.")
    return number


def _floor_number(type: ColumnType, value: int | float | Decimal) -> tuple[Value, bool]:
    if type.floating:
        # A number beyond all doubles is infinite; float(int) would raise instead.
        nearest = float(Decimal(value)) if not isinstance(value, float) else value
        if type.name == "double" or nearest != nearest:
            return nearest, True
        return _float32_floor(nearest)
    if isinstance(value, float):
        if value != value or value == math.inf:
            return extreme_values(type)[1], False
        if value == -math.inf:
            return None, False
        value = Decimal(repr(value))
    number = Decimal(value)
    scale = type.scale
    digits = 19 if type.integral else type.precision - scale
    if number and number.adjusted() >= digits:
        return (extreme_values(type)[1], False) if number > 0 else (None, False)
    if type.integral:
        whole = int(number.to_integral_value(rounding=ROUND_FLOOR))
        limit = 1 << (type.facts.bits - 1)
        if whole < -limit:
            return None, False
        return (whole, whole == number) if whole < limit else (limit - 1, False)
    floor = number.quantize(Decimal((0, (1,), -scale)), context=_WIDE_ARITHMETIC)
    if floor.adjusted() >= digits:
        return None, False  # rounded down to -10.0, which a decimal(2,1) does not hold
    return (abs(floor) if floor.is_zero() else floor), floor == number


def _float32_floor(value: float) -> tuple[Value, bool]:
    rounded = to_float32(value)
    if rounded <= value:
        return rounded, rounded == value
    bits: int = struct.unpack(">i", struct.pack(">f", rounded))[0]
    below: float = struct.unpack(">f", struct.pack(">i", bits + (1 if bits < 0 else -1)))[0]
    return below, False


def _floor_time(type: ColumnType, value: int, literal: ColumnType, zone: str) -> tuple[Value, bool] | None:
    if literal.name == type.name:
        return value, True
    if type.name == "date" and literal.temporal:
        clock = zone if literal.name == "timestamp" else "UTC"
        day = value // temporal.MICROS_PER_DAY + 1
        while temporal.midnight(day, clock) > value:
            day -= 1
        return day, temporal.midnight(day, clock) == value
    if literal.name == "date":
        return temporal.midnight(value, zone if type.name == "timestamp" else "UTC"), True
    return None


def _char_comparison(op: str, name: str, type: ColumnType, value: Value, literal: ColumnType) -> Predicate:
    """Compare a char, which is padded, with a text; SQL pads the shorter of the two to the longer."""
    if not isinstance(value, str) or not literal.textual:
        raise ValueTypeError(f"Column {name} of type {type} cannot be compared with {value!r}: quote it.")
    text = value.rstrip(" ").ljust(type.length)
    cut = text[: type.length]
    if cut == text:
        return Compare(op, name, text, type)
    if op in ("=", "!=", "<=>"):
        return FALSE if op == "<=>" else never(name) if op == "=" else Not(never(name))
    # Where the two differ only past the column's length, the padded column is less or greater than the
    # literal.
    less = text[type.length :] > " " * (len(text) - type.length)
    if op in ("<", "<="):
        return Compare("<=" if less else "<", name, cut, type)
    return Compare(">" if less else ">=", name, cut, type)
