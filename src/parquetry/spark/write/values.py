"""Convert values of a column to text and back, in Python and in Spark's expressions.

The text has the form of `planner.protocol.values`. Timestamps without a zone and intervals have the text that
Spark casts them to, because Spark has no function that makes them from microseconds or months.
"""

from __future__ import annotations

from pyspark.sql import Column, functions as sf

from parquetry.locations import DEFAULT_PARTITION
from parquetry.planner import from_wire, to_wire
from parquetry.types import ColumnType, Value, text_from_value, value_from_text


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
    match type.name:
        case "string" | "varchar":
            return text
        case "char":
            return sf.rtrim(text)
        case "binary":
            return sf.unhex(text)
        case "date":
            return sf.date_from_unix_date(text.cast("int"))
        case "timestamp":
            return sf.timestamp_micros(text.cast("bigint"))
    return text.cast(str(type))


def text_column(type: ColumnType, values: Column) -> Column:
    """Return the texts of a column of values."""
    match type.name:
        case "binary":
            return sf.hex(values)
        case "date":
            return sf.unix_date(values).cast("string")
        case "timestamp":
            return sf.unix_micros(values).cast("string")
    return values.cast("string")


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
