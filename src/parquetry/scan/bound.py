"""Translate the bytes of a range's bound into a condition on the column's values.

A bound is a position between two fields of its column: before or after the field of a value, the field of
NULL, or the fields of all texts with some prefix. Only people need this module: `generate` writes bounds and
never reads them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from parquetry.errors import ValueTypeError
from parquetry.key_schema import KeyField
from parquetry.keys import VALUE_MARKER, fixed_width, unescape
from parquetry.predicate import Compare, IsNull, Not, Predicate, all_of, any_of, starts_with
from parquetry.types import Value, text_from_value


class Edge(Enum):
    """A bound that is not at a value."""

    BEGIN = "before all fields of the column"
    NULLS = "between NULL and the values"
    END = "behind all fields of the column"


@dataclass(frozen=True, slots=True)
class ValueBound:
    """A bound that divides the values of a column, without NULL, into lower and higher ones.

    Attributes:
        field: the column's field.
        value: the value at the bound.
        low: whether the value is one of the lower ones.
        prefix: whether all texts with the value as prefix are on its side, not only the value.
    """

    field: KeyField
    value: Value
    low: bool
    prefix: bool = False

    def lower(self) -> Predicate:
        """Return the condition of the lower values."""
        return self._side("<", self.low)

    def higher(self) -> Predicate:
        """Return the condition of the higher values."""
        return self._side(">", not self.low)

    def _side(self, op: str, has_value: bool) -> Predicate:
        name, type = self.field.name, self.field.type
        if not self.prefix:
            return Compare(f"{op}=" if has_value else op, name, self.value, type)
        beyond, begins = Compare(op, name, self.value, type), starts_with(name, str(self.value))
        return any_of((beyond, begins)) if has_value else all_of((beyond, Not(begins)))


Bound: TypeAlias = ValueBound | Edge


def between(field: KeyField, start: bytes, stop: bytes | None) -> list[Predicate]:
    """Return the conditions, joined by AND, of the values whose fields are between two bounds of one column.

    Args:
        field: the column's field.
        start: the first bytes of the range; empty for no bound.
        stop: the first bytes after the range, or None for no bound.

    >>> from parquetry.types import parse_type
    >>> day = KeyField("day", parse_type("int"))
    >>> [str(each) for each in between(day, day.encode(3), day.encode(7))]
    ['day >= 3', 'day < 7']
    """
    bounds = _bound(field, start), Edge.END if stop is None else _bound(field, stop)
    low, high = reversed(bounds) if field.descending else bounds
    null = IsNull(field.name)
    if high is Edge.NULLS:
        return [null]
    within = [low.higher()] if isinstance(low, ValueBound) else []
    within += [high.lower()] if isinstance(high, ValueBound) else []
    if isinstance(low, ValueBound) or low is Edge.NULLS:
        return within or [Not(null)]
    return [any_of((null, *within))] if within else []


def whole_field(field: KeyField, data: bytes) -> int:
    """Return the length of the field that some bytes begin with, or 0 if they begin with none."""
    try:
        value, end = field.decode(data)
        return end if field.encode(value) == data[:end] else 0
    except (ValueError, ValueTypeError, IndexError, ArithmeticError, struct.error):
        return 0


def text_prefix(field: KeyField, data: bytes) -> str | None:
    """Return the common prefix of all texts whose fields begin with these bytes, or None if there is none."""
    if not field.type.textual:
        return None
    try:
        text = unescape(field.apply_direction(data)[1:]).decode("utf-8", "surrogatepass")
    except (ValueError, IndexError):
        return None
    return text if field.prefix(text) == data else None


def _bound(field: KeyField, data: bytes) -> Bound:
    """Read a bound of one column.

    Raises:
        ValueError: the bytes are not a bound of the column.
    """
    if data in (b"", field.apply_direction(VALUE_MARKER) if field.descending else field.null):
        return Edge.BEGIN
    if data in (field.null, field.apply_direction(VALUE_MARKER)):
        return Edge.NULLS
    data = data.ljust(fixed_width(field.type) or 0, b"\x00")
    before = [value for each in _preceding(field, data) for value in _value(field, each)]
    at = _value(field, data)
    if at and not (before and _better(field, before[0], at[0])):
        return ValueBound(field, at[0], low=field.descending)
    if before:
        return ValueBound(field, before[0], low=not field.descending)
    padded = field.type.name == "char"  # so the text of a prefix is no value
    text = text_prefix(field, data)
    if text is not None:
        return ValueBound(field, text, low=field.descending, prefix=field.descending or padded)
    text = text_prefix(field, _less_one(data))
    if text is not None:
        return ValueBound(field, text, low=not field.descending, prefix=padded or not field.descending)
    raise ValueError(f"The bytes {data.hex()} are no bound of column {field.name!r} of type {field.type}.")


def _value(field: KeyField, data: bytes) -> list[Value]:
    """Return a list of the value whose field the bytes are; an empty list if they are no whole field."""
    return [field.decode(data)[0]] if data and whole_field(field, data) == len(data) else []


def _preceding(field: KeyField, data: bytes) -> Iterator[bytes]:
    """Yield the byte strings whose successor these bytes may be."""
    less = _less_one(data)
    yield less
    if not fixed_width(field.type):
        yield less + b"\xff"


def _less_one(data: bytes) -> bytes:
    return (int.from_bytes(data, "big") - 1).to_bytes(len(data), "big")


def _better(field: KeyField, before: Value, at: Value) -> bool:
    """Return whether a bound reads better as "after `before`" than as "before `at`": `f <= 0.5`, for example.

    Ranges of integers and dates are written half-open, `day >= 2026-03-01, day < 2026-04-01`, also in
    descending order.
    """
    if before is None or at is None:
        return False
    if field.type.integral or field.type.name == "date":
        return field.descending
    return len(text_from_value(field.type, before)) < len(text_from_value(field.type, at))
