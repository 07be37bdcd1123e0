"""The columns and fields of a Parquet file, and how the raw bounds of each become comparable values."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from parquetry.data_files.footers.parquet_footer import ParquetFooter
from parquetry.data_files.footers.parquet_schema import SchemaNode

_MICROS_PER_UNIT = {"TIMESTAMP(MICROS)": 1, "TIMESTAMP(MILLIS)": 1000}
_WIDTHS = {"INT32": 4, "INT64": 8}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(-?\d+)\)")
_MAX_DECIMAL_BYTES = 32
_INTEGERS = ("", "INT(8)", "INT(16)", "INT(32)", "INT(64)")

Convert = Callable[[bytes], Any]


class Leaf(NamedTuple):
    """A column or a field of a struct, and its position among the columns of values.

    Attributes:
        node: the column or the field.
        position: of its first column of values in the file.
        leaves: how many columns of values it has.
        convert: converts a raw bound, to None if it is useless. None if no bound of the column is useful.
        signed: whether raw bounds that are compared as signed numbers are in the right order.
        calendar: `date` or `timestamp`, or None for other types.
        required: whether no row is NULL. A field is NULL where a struct above it is.
        within: whether it is a field of a struct.
    """

    node: SchemaNode
    position: int
    leaves: int
    convert: Convert | None
    signed: bool
    calendar: str | None
    required: bool
    within: bool = False

    @property
    def is_struct(self) -> bool:
        """Whether it has fields of its own: it is no array, map, or variant, and no value."""
        node = self.node
        return bool(node.children) and not node.repeated and not node.annotation

    def fields(self) -> Iterator[Leaf]:
        """Yield the fields directly within a struct."""
        position = self.position
        for node in self.node.children if self.is_struct else ():
            required = self.required and node.required
            yield Leaf(node, position, node.leaves, *_use(node), required, within=True)
            position += node.leaves


def top_level(footer: ParquetFooter) -> Iterator[Leaf]:
    """Yield each top-level column."""
    position = 0
    for node in footer.columns:
        count = node.leaves
        yield Leaf(node, position, count, *_use(node), node.required)
        position += count


def _use(node: SchemaNode) -> tuple[Convert | None, bool, str | None]:
    return (None, False, None) if node.nested else _meaning(node)


@lru_cache(maxsize=1024)
def _meaning(node: SchemaNode) -> tuple[Convert | None, bool, str | None]:
    """Return how bounds are converted, whether they are in the order of signed numbers, and the calendar."""
    physical, annotation = node.physical, node.annotation
    if (decimal := _DECIMAL.fullmatch(annotation)) is not None:
        return _decimal_converter(physical, int(decimal[2])), False, None
    if physical == "BOOLEAN" and not annotation:
        return _boolean, True, None
    if physical in ("FLOAT", "DOUBLE") and not annotation:
        return _unpacker("<f" if physical == "FLOAT" else "<d"), True, None
    if physical in _WIDTHS:
        return _integer_meaning(physical, annotation)
    if physical == "BYTE_ARRAY" and annotation in ("STRING", "ENUM", "JSON"):
        return _text, False, None
    if physical in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY") and annotation in ("", "BSON"):
        return bytes, False, None
    return None, False, None


def _integer_meaning(physical: str, annotation: str) -> tuple[Convert | None, bool, str | None]:
    signed = _unpacker("<i" if physical == "INT32" else "<q")
    if annotation in _INTEGERS:
        return signed, True, None
    if annotation == "DATE" and physical == "INT32":
        return signed, True, "date"
    if annotation.startswith("UINT("):
        return _unpacker("<I" if physical == "INT32" else "<Q"), False, None
    factor = _MICROS_PER_UNIT.get(annotation)
    if factor is not None and physical == "INT64":
        return _scale(signed, factor), True, "timestamp"
    return None, False, None


def _unpacker(form: str) -> Convert:
    layout = struct.Struct(form)

    def unpack(raw: bytes) -> Any:
        return layout.unpack(raw)[0] if len(raw) == layout.size else None

    return unpack


def _boolean(raw: bytes) -> bool | None:
    return raw == b"\x01" if raw in (b"\x00", b"\x01") else None


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _scale(unpack: Convert, factor: int) -> Convert:
    def convert(raw: bytes) -> int | None:
        number = unpack(raw)
        return number * factor if number is not None and -(1 << 63) <= number * factor < 1 << 63 else None

    return convert


def _decimal_converter(physical: str | None, scale: int) -> Convert | None:
    if physical not in ("INT32", "INT64", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
        return None
    width = _WIDTHS.get(physical)

    def convert(raw: bytes) -> Decimal | None:
        if not raw or len(raw) > _MAX_DECIMAL_BYTES or width not in (None, len(raw)):
            return None
        unscaled = int.from_bytes(raw, "little" if width else "big", signed=True)
        return Decimal(f"{unscaled}E{-scale}")

    return convert
