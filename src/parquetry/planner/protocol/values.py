"""Values on the bridge: text, in Catalyst's internal form (see `bridge/protocol/Json.scala`)."""

from __future__ import annotations

from decimal import Decimal

from parquetry.types import ColumnType, Value, to_float32


def from_wire(type_: ColumnType, text: str | None) -> Value:
    """Return the value that the bridge sent: dates in days, timestamps in microseconds, binary in hex."""
    if text is None:
        return None
    if type_.facts.value is int:
        return int(text)
    if type_.name == "boolean":
        return text == "true"
    if type_.floating:
        number = float(text.replace("Infinity", "inf"))
        return (
            to_float32(number) if type_.name == "float" else number
        )  # Java prints a float's shortest digits
    if type_.name == "decimal":
        return Decimal(text)
    return bytes.fromhex(text) if type_.name == "binary" else text


def to_wire(type_: ColumnType, value: Value) -> str | None:
    """Return a value as the bridge reads it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return value.hex() if type_.name == "binary" else value.decode()
    return str(value)
