"""Convert values of a column to text and back, in Python and in Spark's expressions.

The text has the form of `planner.protocol.values`. Timestamps without a zone and intervals have the text that
Spark casts them to, because Spark has no function that makes them from microseconds or months.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, functions as sf

from parquetry.locations import DEFAULT_PARTITION
from parquetry.planner import from_wire, to_wire
from parquetry.types import ColumnType, Value, text_from_value, value_from_text

_FORMS: dict[str, tuple[Callable[[Column], Column], Callable[[Column], Column]]] = {
    "binary": (sf.unhex, sf.hex),
    "date": (
        lambda text: sf.date_from_unix_date(text.cast("int")),
        lambda values: sf.unix_date(values).cast("string"),
    ),
    "timestamp": (
        lambda text: sf.timestamp_micros(text.cast("bigint")),
        lambda values: sf.unix_micros(values).cast("string"),
    ),
}
"""The conversions from text and to text that are no casts."""


def text_of(type: ColumnType, value: Value) -> str | None:
    """Return a value as the text that `value_column` reads."""
    if value is None or not _as_cast(type):
        return to_wire(type, value)
    return text_from_value(type, value)


def value_of(type: ColumnType, text: str | None) -> Value:
    """Return the value of a text from `text_column`."""
    if text is None:
        return None
    if _as_cast(type):
        return value_from_text(type, text)
    if type.name == "char":
        return text.rstrip(" ").ljust(type.length)
    return from_wire(type, text)


def _as_cast(type: ColumnType) -> bool:
    """Return whether values of a type have the text that Spark casts them to."""
    return type.name == "timestamp_ntz" or type.interval


def value_column(type: ColumnType, text: Column) -> Column:
    """Return the values of a column of texts. They can be compared with the result of `comparable`."""
    if type.textual:
        return comparable(type, text)
    return _FORMS[type.name][0](text) if type.name in _FORMS else text.cast(str(type))


def text_column(type: ColumnType, values: Column) -> Column:
    """Return the texts of a column of values."""
    return _FORMS[type.name][1](values) if type.name in _FORMS else values.cast("string")


def comparable(type: ColumnType, values: Column) -> Column:
    """Return a column's values so that equal values compare equal: a `char` without its trailing blanks."""
    return sf.rtrim(values) if type.name == "char" else values


def key_column(type: ColumnType, values: Column) -> Column:
    """Return comparable values of a partition column in the form of keys (`partition_path.stored_value`)."""
    if type.name == "binary":
        return sf.when(sf.length(values) > 0, values)
    if not type.textual:
        return values
    return sf.when(~values.isin("", DEFAULT_PARTITION), comparable(type, values))
