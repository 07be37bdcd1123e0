"""The schema of a Parquet file, as its footer states it: a tree of columns.

The files of one write have one schema, so the schemas of the last footers are kept, by their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from parquetry.data_files.footers.thrift import Beginning, Struct, decode_beginning

_SCHEMA = 2
"""The number of the footer's field with the schema; only the version comes before it."""
_MOST_KEPT = 8
"""Schemas that are kept. A footer is compared with each."""
_PHYSICAL = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_UNITS = {1: "MILLIS", 2: "MICROS", 3: "NANOS"}
_CONVERTED = {
    0: "STRING", 1: "MAP", 2: "MAP", 3: "LIST", 4: "ENUM", 6: "DATE", 7: "TIME(MILLIS)", 8: "TIME(MICROS)",
    9: "TIMESTAMP(MILLIS)", 10: "TIMESTAMP(MICROS)", 11: "UINT(8)", 12: "UINT(16)", 13: "UINT(32)", 14: "UINT(64)",
    15: "INT(8)", 16: "INT(16)", 17: "INT(32)", 18: "INT(64)", 19: "JSON", 20: "BSON", 21: "INTERVAL",
}  # fmt: skip
_CONVERTED_DECIMAL = 5
_LOGICAL = {
    1: "STRING", 2: "MAP", 3: "LIST", 4: "ENUM", 6: "DATE", 11: "UNKNOWN", 12: "JSON", 13: "BSON", 14: "UUID",
    15: "FLOAT16", 16: "VARIANT", 17: "GEOMETRY", 18: "GEOGRAPHY",
}  # fmt: skip
_DECIMAL, _TIME, _TIMESTAMP, _INTEGER = 5, 7, 8, 10
_REQUIRED, _REPEATED = 0, 2
UNCLEAR = "UNCLEAR"
"""The annotation of a column whose two annotations, the old one and the new one, contradict each other."""


@dataclass(frozen=True, slots=True)
class SchemaNode:
    """A column of a file, or a field within one.

    Attributes:
        name: the name. Bytes that are no UTF-8 are shown as `\\xff`.
        physical: how values are stored, such as ``INT64``, or None if the node has children.
        annotation: what they mean, such as ``STRING``, ``DECIMAL(9,2)``, ``TIMESTAMP(MILLIS)``, ``UINT(32)``
            or ``UNCLEAR``; empty if the file does not say.
        required: whether the file calls it required.
        repeated: whether it is a list's element, or a list in the old form.
        children: the fields of a struct, list or map.
        field_id: the column's id, or None. Some readers find the column by it.
    """

    name: str
    physical: str | None
    annotation: str
    required: bool
    repeated: bool
    children: tuple[SchemaNode, ...] = ()
    field_id: int | None = None

    @property
    def nested(self) -> bool:
        """Whether the node is a struct, list or map, or repeated."""
        return bool(self.children) or self.physical is None or self.repeated

    @property
    def leaves(self) -> int:
        """Return how many columns of values are at and below the node."""
        return (
            sum(child.leaves for child in self.children) if self.children else int(self.physical is not None)
        )

    @property
    def stored_type(self) -> str:
        """Return the type as a record states it: ``INT64 TIMESTAMP(MILLIS)``, or ``BYTE_ARRAY``."""
        return f"{self.physical} {self.annotation}".rstrip()


@dataclass(frozen=True, slots=True)
class KnownSchema:
    """The beginning of a footer, up to the end of the schema.

    Attributes:
        beginning: its bytes and fields.
        columns: the top-level columns.
    """

    beginning: Beginning
    columns: tuple[SchemaNode, ...]

    @property
    def elements(self) -> Any:
        """Return the schema's elements as they were decoded."""
        return self.beginning.fields[_SCHEMA]


_recent_schemas: tuple[KnownSchema, ...] = ()


def find_schema(footer: bytes) -> KnownSchema | None:
    """Return the schema at the beginning of a footer, or None if it cannot be read alone."""
    global _recent_schemas  # another thread's schema may be lost, which is read again
    for schema in _recent_schemas:
        if footer.startswith(schema.beginning.data):
            return schema
    try:
        beginning = decode_beginning(footer, _SCHEMA)
        if beginning is None:
            return None
        schema = KnownSchema(beginning, read_schema(beginning.fields[_SCHEMA]))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None  # `ParquetFooter.parse` reads it whole, and raises the error
    _recent_schemas = (schema, *_recent_schemas[: _MOST_KEPT - 1])
    return schema


def read_schema(elements: Sequence[Struct]) -> tuple[SchemaNode, ...]:
    """Return the top-level columns of a schema, which lists a tree's nodes from the root down.

    Raises:
        ValueError, LookupError, TypeError, AttributeError: the elements are no schema.
    """
    remaining = iter(elements)
    root = next(remaining, None)
    if root is None:
        raise ValueError("the footer has no schema")
    columns = tuple(_read_node(remaining) for _ in range(_children(root)))
    if next(remaining, None) is not None:
        raise ValueError("the schema has more elements than columns")
    return columns


def _read_node(remaining: Iterator[Struct]) -> SchemaNode:
    element = next(remaining, None)
    if element is None:
        raise ValueError("the schema ends within a column")
    children = tuple(_read_node(remaining) for _ in range(_children(element)))
    physical = None if children else _physical(element.get(1))
    repetition = element.get(3, 1)
    return SchemaNode(
        text(element[4]),
        physical,
        _annotation(element),
        repetition == _REQUIRED,
        repetition == _REPEATED,
        children,
        number(element.get(9)),
    )


def _children(element: Struct) -> int:
    count = element.get(5, 0)
    if not isinstance(count, int) or count < 0:
        raise ValueError(f"a column has {count} fields")
    return count


def _physical(number: Any) -> str | None:
    return _PHYSICAL[number] if isinstance(number, int) and 0 <= number < len(_PHYSICAL) else None


def _annotation(element: Struct) -> str:
    """Return the meaning of a column's values. Files have it in an old form, in a new one, or in both."""
    old, new = _old_annotation(element), _new_annotation(element.get(10))
    return UNCLEAR if old and new and old != new else old or new


def _old_annotation(element: Struct) -> str:
    converted = element.get(6)
    if converted is None:
        return ""
    if converted == _CONVERTED_DECIMAL:
        return f"DECIMAL({element.get(8, 0)},{element.get(7, 0)})"
    return _CONVERTED.get(converted, UNCLEAR)


def _new_annotation(logical: Any) -> str:
    if not isinstance(logical, dict) or not logical:
        return ""
    ((kind, about), *more) = logical.items()
    if more or not isinstance(about, dict):
        return UNCLEAR
    if kind == _DECIMAL:
        return f"DECIMAL({about.get(2, 0)},{about.get(1, 0)})"
    if kind in (_TIME, _TIMESTAMP):
        unit = about.get(2)
        name = _UNITS.get(next(iter(unit), 0)) if isinstance(unit, dict) else None
        return f"{'TIME' if kind == _TIME else 'TIMESTAMP'}({name})" if name else UNCLEAR
    if kind == _INTEGER:
        return f"{'INT' if about.get(2) else 'UINT'}({about.get(1, 0)})"
    return _LOGICAL.get(kind, UNCLEAR)


def number(value: Any) -> int | None:
    """Return a whole number, or None for another value."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text(name: bytes) -> str:
    """Return bytes as text. Bytes that are no UTF-8 are shown as `\\xff`."""
    return name.decode(errors="backslashreplace")
