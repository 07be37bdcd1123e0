"""The leaf columns of a Parquet file: the top-level column of each, and the meaning of its raw bounds.

Raw bounds are converted here, because PyArrow's own conversion fails for years beyond Python's.
`footer_statistics` uses the converted bounds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

_MICROS_PER_UNIT = {"microseconds": 1, "milliseconds": 1000}


class Leaf(NamedTuple):
    """A leaf column: its position, and how its raw bounds become comparable values.

    Attributes:
        position: among the file's leaves.
        convert: converts a raw bound, to None if it is useless. None if no bound of the column is useful.
        calendar: `date` or `timestamp`, or None for other types.
        required: whether NULL cannot occur.
        nested: whether the leaf is part of a top-level column, and not a top-level column itself.
    """

    position: int
    convert: Callable[[Any], Any] | None
    calendar: str | None
    required: bool
    nested: bool = False


def top_level(footer: Any) -> Iterator[tuple[str, list[Leaf]]]:
    """Yield each top-level column's name and its leaves."""
    schema = footer.schema
    try:
        fields = [(field.name, *_shape(field.type)) for field in schema.to_arrow_schema()]
    except (pa.ArrowException, NotImplementedError):
        fields = []
    if sum(count for _, count, _ in fields) != len(schema):
        # Arrow does not know some type. The paths have to do, where a dot may be part of a name, or a level.
        fields = []
        for index in range(len(schema)):
            name, dot, _ = schema.column(index).path.partition(".")
            if fields and dot and fields[-1][0] == name:
                fields[-1] = (name, fields[-1][1] + 1, True)
            else:
                fields.append((name, 1, bool(dot)))
    start = 0
    for name, count, nested in fields:
        yield name, [_leaf(schema.column(index), index, nested) for index in range(start, start + count)]
        start += count


def _shape(kind: Any) -> tuple[int, bool]:
    if not pa.types.is_nested(kind):
        return 1, False
    return sum(_shape(kind.field(index).type)[0] for index in range(kind.num_fields)), True


def _leaf(column: Any, index: int, nested: bool) -> Leaf:
    if nested or column.max_repetition_level:
        return Leaf(index, None, None, required=False, nested=True)
    logical, physical = column.logical_type.type, column.physical_type
    required = column.max_definition_level == 0
    convert: Callable[[Any], Any] | None = None
    calendar = None
    if logical == "DECIMAL":
        convert = _decimal_converter(column.scale)
    elif physical == "BOOLEAN" or (physical in ("FLOAT", "DOUBLE") and logical == "NONE"):
        convert = _as_is
    elif physical in ("INT32", "INT64"):
        if logical in ("NONE", "DATE"):
            convert, calendar = _as_is, "date" if logical == "DATE" else None
        elif logical == "INT":
            described = json.loads(column.logical_type.to_json())
            convert = _as_is if described["isSigned"] else _unsigned(32 if physical == "INT32" else 64)
        elif logical == "TIMESTAMP":
            # Spark reads nanoseconds, if at all, as plain numbers.
            factor = _MICROS_PER_UNIT.get(json.loads(column.logical_type.to_json())["timeUnit"])
            convert, calendar = (None if factor is None else _scaled(factor)), "timestamp"
    elif physical == "BYTE_ARRAY" and logical in ("STRING", "ENUM", "JSON"):
        convert = _text
    elif physical in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY") and logical in ("NONE", "BSON"):
        convert = _as_is
    return Leaf(index, convert, calendar, required)


def _as_is(raw: Any) -> Any:
    return raw


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _unsigned(bits: int) -> Callable[[int], int]:
    return lambda raw: raw % (1 << bits)


def _scaled(factor: int) -> Callable[[int], int | None]:
    return lambda raw: raw * factor if -(1 << 63) <= raw * factor < 1 << 63 else None


def _decimal_converter(scale: int) -> Callable[[int | bytes], Decimal]:
    def convert(raw: int | bytes) -> Decimal:
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
        return Decimal(f"{unscaled}E-{scale}")

    return convert
