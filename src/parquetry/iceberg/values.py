"""Single values in the JSON of Iceberg's REST protocol, and back."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from parquetry.errors import UnsupportedError
from parquetry.types import ColumnType, Value, text_from_value, to_float32, to_python, value_from_text


def to_json(kind: ColumnType, value: Value) -> Any:
    """Return a value as Iceberg's JSON has it.

    Raises:
        UnsupportedError: Iceberg's JSON cannot have the value.

    >>> from parquetry.types import parse_type
    >>> to_json(parse_type("date"), 20784), to_json(parse_type("binary"), b"\\x01z"), to_json(parse_type("string"), None)
    ('2026-11-27', '017A', None)
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if kind.integral:
        return value
    plain = to_python(kind, value)
    if isinstance(plain, datetime):
        return plain.isoformat(timespec="microseconds")
    if isinstance(plain, date):
        return plain.isoformat()
    raise UnsupportedError(
        f"Partition value {text_from_value(kind, value)} of type {kind} cannot be given to Iceberg's readers, whose "
        "dates are of the years 1 to 9999: leave the partition out by a condition."
    )


def from_json(kind: ColumnType, literal: Any) -> Value:
    """Return a literal of a filter as a value of a column's type.

    Numbers for dates and timestamps are days and microseconds since 1970, as Iceberg stores them.

    Raises:
        ValueError: the literal is not understood.
        ValueTypeError: the literal does not fit the type.

    >>> from parquetry.types import parse_type
    >>> from_json(parse_type("date"), "2026-11-27"), from_json(parse_type("decimal(9,2)"), "1.5")
    (20784, Decimal('1.5'))
    """
    if kind.name == "boolean":
        return bool(_require(literal, bool))
    if isinstance(literal, bool):
        raise ValueError("a boolean for another type")
    if kind.floating:
        number = float(literal)
        return to_float32(number) if kind.name == "float" else number
    if kind.numeric:
        return _number(literal)
    if kind.name == "binary":
        return bytes.fromhex(_require(literal, str))
    if kind.temporal:
        return int(literal) if isinstance(literal, int) else _time(kind, str(_require(literal, str)))
    return str(_require(literal, str))


def _require(literal: Any, kind: type) -> Any:
    if not isinstance(literal, kind):
        raise ValueError(f"{literal!r} is not of the type of the column")
    return literal


def _number(literal: Any) -> Decimal:
    try:
        number = Decimal(str(literal)) if isinstance(literal, int | float | str) else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite():
        raise ValueError(f"{literal!r} is not a number")
    return number


def _time(kind: ColumnType, text: str) -> Value:
    if kind.name == "date":
        date.fromisoformat(text)  # nothing that Spark's looser reading would take
        return value_from_text(kind, text)
    moment = datetime.fromisoformat(text)
    if (moment.tzinfo is None) == (kind.name == "timestamp"):
        raise ValueError("a timestamp with a time zone for one without, or the other way round")
    return value_from_text(kind, text.replace("T", " "), "UTC")
