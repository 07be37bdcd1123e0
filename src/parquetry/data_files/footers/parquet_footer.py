"""A Parquet footer as the file states it: the schema's tree, and what each row group says of each column.

This module judges nothing: `parquet_statistics` decides what is believed. The numbers of fields are in
`parquet.thrift`, in the repository apache/parquet-format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from parquetry.data_files.footers.thrift import Struct, decode_struct

MAGIC, ENCRYPTED_MAGIC = b"PAR1", b"PARE"
LENGTH_AND_MAGIC_BYTES = 8
"""The end of a file: the footer's length in four bytes, and a magic number."""

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
class Chunk:
    """One column of values in one row group, as the footer describes it.

    Attributes:
        values: number of values, NULLs included, or None if it is not stated.
        size: compressed bytes, or None.
        nulls: number of NULLs, or None.
        min: the least value as bytes, or None. From the deprecated fields if `deprecated`.
        max: the greatest value, likewise.
        deprecated: whether `min` and `max` are the fields of before 2017, whose order depends on the writer.
        min_exact: whether `min` occurs, or None if the file does not say.
        max_exact: whether `max` occurs, likewise.
        encrypted: whether the column is encrypted.
    """

    values: int | None
    size: int | None
    nulls: int | None
    min: bytes | None
    max: bytes | None
    deprecated: bool
    min_exact: bool | None
    max_exact: bool | None
    encrypted: bool


@dataclass(frozen=True)
class ParquetFooter:
    """A Parquet file's footer.

    Attributes:
        columns: the top-level columns.
        created_by: the writer's name and version; empty if it is not stated.
        metadata: the file's own keys and values.
        encrypted: whether the footer itself is encrypted. Nothing else is known then.
    """

    columns: tuple[SchemaNode, ...]
    created_by: str
    metadata: Mapping[bytes, bytes]
    encrypted: bool
    _stated_rows: int | None
    _groups: Sequence[Struct]
    _orders: Sequence[Any] | None

    @classmethod
    def parse(cls, data: bytes) -> ParquetFooter:
        """Read a footer.

        Args:
            data: the footer's Thrift, without the length and the magic number.

        Raises:
            ValueError: the bytes are no footer.
        """
        footer, _ = decode_struct(data)
        try:
            return cls(
                columns=_read_schema(footer[2]),
                created_by=_text(footer.get(6, b"")),
                metadata={pair[1]: pair.get(2, b"") for pair in _structs(footer.get(5, ()))},
                encrypted=False,
                _stated_rows=_number(footer.get(3)),
                _groups=_structs(footer.get(4, ())),
                _orders=footer.get(7),
            )
        except (LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"the footer is not that of a Parquet file ({error!r})") from error

    @classmethod
    def of_encrypted(cls) -> ParquetFooter:
        """Return what is known of a file whose footer is encrypted: nothing."""
        return cls((), "", {}, True, None, (), None)

    @property
    def has_encrypted_columns(self) -> bool:
        """Whether readers need keys for the file, or for some of its columns."""
        return self.encrypted or any(
            8 in chunk or 9 in chunk for group in self._groups for chunk in _structs(group.get(1, ()))
        )

    @property
    def row_groups(self) -> int:
        """Return the number of row groups."""
        return len(self._groups)

    @cached_property
    def group_rows(self) -> list[int | None]:
        """Return the number of rows of each row group, or None where it is not stated."""
        return [_number(group.get(3)) for group in self._groups]

    @cached_property
    def rows(self) -> int | None:
        """Return the number of rows, or None if the footer contradicts itself.

        Spark reads the rows of the row groups. Some writers state another number for the file.
        """
        counts = self.group_rows
        if self.encrypted or any(count is None or count < 0 for count in counts):
            return None
        total = sum(count for count in counts if count is not None)
        return total if total == self._stated_rows else None

    def by_row_group(self) -> list[ParquetFooter]:
        """Return a footer for each row group, as if the group were a file."""
        return [
            replace(self, _stated_rows=rows, _groups=[group])
            for group, rows in zip(self._groups, self.group_rows, strict=True)
        ]

    @property
    def leaves(self) -> int:
        """Return the number of columns of values."""
        return sum(column.leaves for column in self.columns)

    def is_ordered(self, leaf: int) -> bool:
        """Whether the bounds of a column of values follow the order that its type defines.

        Files without the list of orders are old. Their readers decide by the kind of the statistics.
        """
        if self._orders is None:
            return True
        order = self._orders[leaf] if isinstance(self._orders, list) and leaf < len(self._orders) else None
        return isinstance(order, dict) and 1 in order

    def chunks(self, leaf: int) -> Iterator[Chunk | None]:
        """Yield what each row group says of a column of values, or None for a group that lacks it."""
        for group in self._groups:
            chunks = group.get(1, ())
            yield _chunk(chunks[leaf]) if leaf < len(chunks) and isinstance(chunks[leaf], dict) else None


def _chunk(column: Struct) -> Chunk:
    about = column.get(3)
    about = about if isinstance(about, dict) else {}
    stated = about.get(12)
    stated = stated if isinstance(stated, dict) else {}
    deprecated = not (5 in stated and 6 in stated)
    least, greatest = (stated.get(2), stated.get(1)) if deprecated else (stated.get(6), stated.get(5))
    known = isinstance(least, bytes) and isinstance(greatest, bytes)
    return Chunk(
        values=_number(about.get(5)),
        size=_number(about.get(7)),
        nulls=_number(stated.get(3)),
        min=least if known else None,
        max=greatest if known else None,
        deprecated=deprecated,
        min_exact=_flag(stated.get(8)) if not deprecated else None,
        max_exact=_flag(stated.get(7)) if not deprecated else None,
        encrypted=8 in column or 9 in column,
    )


def _flag(value: Any) -> bool | None:
    """Return a flag, or None if it is not stated. One of another type is damaged, and false."""
    return value if value is None or isinstance(value, bool) else False


def _read_schema(elements: Sequence[Struct]) -> tuple[SchemaNode, ...]:
    """Return the top-level columns of a schema, which lists a tree's nodes from the root down."""
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
        _text(element[4]),
        physical,
        _annotation(element),
        repetition == _REQUIRED,
        repetition == _REPEATED,
        children,
        _number(element.get(9)),
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


def _structs(values: Any) -> Sequence[Struct]:
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, dict) for value in values):
        raise ValueError("the footer has a list of other values than expected")
    return values


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(name: bytes) -> str:
    return name.decode(errors="backslashreplace")
